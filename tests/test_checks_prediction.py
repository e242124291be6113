"""Laws on the parts of a prediction, each with a scorer that breaks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
import pytest

from hmrouter.checks import LAWS, CheckFailed, Make, check_scorer
from hmrouter.scorers.base import Z90, Prediction
from hmrouter.scorers.fixed import Fixed
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route


class Saying(Fixed):
    """Says more than its logits: a width per route, and how routes vary together."""

    name: ClassVar[str] = "saying"

    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        said = super().predict(x, routes)
        sd = np.array([0.001 * (1 + sum(map(ord, str(r))) % 7) for r in routes])
        half = np.tile(Z90 * sd, (len(x), 1))
        return replace(
            said, interval=(np.clip(said.success - half, 0, 1), np.clip(said.success + half, 0, 1)),
            joint=lambda task, which: np.diag(sd[list(which)] ** 2),
            contrasts=lambda which: np.diag(sd[list(which)] ** 2),
        )  # fmt: skip


class RanksByPlace(Saying):
    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        said = super().predict(x, routes)
        return replace(said, merit=said.merit - 0.01 * np.arange(len(routes)))


class RanksByBatch(Saying):
    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        said = super().predict(x, routes)
        return replace(said, merit=said.merit / len(x))


class OffCentre(Saying):
    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        said = super().predict(x, routes)
        return replace(said, interval=(said.success + 0.01, said.success + 0.02))


class TwoMinds(Saying):
    def success(self, x: Floats, routes: Sequence[Route]) -> Floats:
        return super().success(x, routes) / 2.0


class TooSure(Saying):
    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        said = super().predict(x, routes)
        return replace(said, joint=lambda task, which: np.eye(len(which)) * 1e-8)


class NoCovariance(Saying):
    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        said = super().predict(x, routes)
        return replace(said, joint=lambda task, which: 1.0 - 2.0 * np.eye(len(which)))


class OtherContrasts(Saying):
    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        said = super().predict(x, routes)
        return replace(said, contrasts=lambda which: np.eye(len(which)))


class Counts(Saying):
    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        self.asked_ = getattr(self, "asked_", 0) + 1
        return super().predict(x, routes)

    def state(self) -> State:
        state = super().state()
        return State(state.arrays, {**state.meta, "asked": getattr(self, "asked_", 0)})


class InPlace(Saying):
    def after(self, outcome: Outcome, x: Floats) -> Self:
        self.observe(outcome, x)
        return self


class Deaf(Saying):
    def after(self, outcome: Outcome, x: Floats) -> Self:
        return self


BROKEN: list[tuple[str, Make, str]] = [
    ("every_part_follows_its_route", RanksByPlace, "in merit when the routes are permuted"),
    ("every_part_follows_its_task", RanksByBatch, "in merit when a task is asked about without the others"),
    ("success_lies_in_its_interval", OffCentre, "an interval does not hold the success"),
    ("success_lies_in_its_interval", TwoMinds, "between success and predict"),
    ("intervals_are_as_wide_as_the_covariance_says", TooSure, "between the interval and the diagonal of joint"),
    ("intervals_are_as_wide_as_the_covariance_says", NoCovariance, "joint is no covariance"),
    ("intervals_are_as_wide_as_the_covariance_says", OtherContrasts, "those of contrasts"),
    ("asking_changes_nothing", Counts, "asking changed the state"),
    ("after_leaves_the_scorer_as_it_was", InPlace, "of the scorer that `after` was asked of"),
    ("after_leaves_the_scorer_as_it_was", Deaf, "between after and observe"),
]


@pytest.mark.parametrize(("name", "make", "how"), BROKEN, ids=[f"{law}-{i}" for i, (law, _, _) in enumerate(BROKEN)])
def test_a_prediction_that_contradicts_itself_is_noticed(name: str, make: Make, how: str) -> None:
    law = next(law for law in LAWS if law.name == name)
    with pytest.raises(CheckFailed, match=f"the law '{name}' is broken: .*{how}"):
        law.check(make)


def test_what_they_are_made_from_is_sound() -> None:
    check_scorer(Saying)
