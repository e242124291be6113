"""Every scorer obeys every law, and every law can be broken."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest

from hmrouter.checks import LAWS, CheckFailed, Law, Make, check_scorer
from hmrouter.scorers.base import SCORERS, Training
from hmrouter.scorers.fixed import Fixed
from hmrouter.scorers.hm import HM
from hmrouter.scorers.knn import KNN
from hmrouter.scorers.random_choice import Random
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route

every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def quick(name: str) -> Make:
    """A factory of a scorer by its name; what learns in epochs gets few of them."""
    scorer = SCORERS.load(name)
    return partial(scorer, epochs=3) if issubclass(scorer, HM) else scorer


# -- the built-in scorers -------------------------------------------------------------------------------------------


@every_law
@pytest.mark.parametrize("name", SCORERS.names())
def test_every_scorer_obeys_every_law(name: str, law: Law) -> None:
    law.check(quick(name))


@pytest.mark.parametrize(
    "make",
    [
        partial(HM, epochs=2, interaction=False, seed=3),
        partial(HM, epochs=2, dtype="float64", d=5, side=3, batch_tasks=2),
        partial(KNN, k=1),
        partial(KNN, k=3, shrink=2.5),
        partial(Random, seed=-1),
    ],
    ids=["hm without interaction", "small float64 hm", "knn 1", "knn shrunk", "random seeded"],
)
def test_other_settings_obey_too(make: Make) -> None:
    check_scorer(make)


def test_scores_do_not_depend_on_the_process() -> None:
    # Strings hash differently in every process: a scorer that goes through a set of names in its order would show.
    program = """
import sys
from hmrouter.checks.world import fit_and_score, training_on
from hmrouter.scorers.base import SCORERS
from hmrouter.scorers.hm import HM
for name in SCORERS.names():
    scorer = SCORERS.load(name)
    made = scorer(epochs=2) if issubclass(scorer, HM) else scorer()
    print(name, fit_and_score(lambda: made, training_on()).tobytes().hex())
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
            capture_output=True, text=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(printed) == 1
    assert printed.pop().count("\n") == len(SCORERS.names())


# -- scorers that break one law each --------------------------------------------------------------------------------


def shifted(scores: Floats, by: Any) -> Floats:
    out: Floats = scores + by
    return out


class Broken(Fixed):
    """Obeys every law as long as nothing is overridden."""

    name: ClassVar[str] = "broken"


class Unseeded(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        return shifted(super().score(x, routes), np.random.default_rng().random())


class ByPlace(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        return shifted(super().score(x, routes), np.arange(len(routes)))


class ByRank(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        scores = super().score(x, routes)
        return shifted(scores, -scores.mean(axis=1, keepdims=True))


class ByBatch(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        return shifted(super().score(x, routes), len(x))


class ByFits(Broken):
    fits: ClassVar[int] = 0

    def fit(self, training: Training) -> Self:
        ByFits.fits += 1
        self.at_ = ByFits.fits
        return super().fit(training)

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        return shifted(super().score(x, routes), self._require_fitted("at_"))


class NeverForgets(Broken):
    def fit(self, training: Training) -> Self:
        before = dict(self.means_.all()) if hasattr(self, "means_") else {}
        super().fit(training)
        for route, mean in before.items():
            self.means_.add(route, mean)
        return self


class BlamesTheRoute(Broken):
    def observe(self, outcome: Outcome, x: Floats) -> None:
        self.means_.add(outcome.route, outcome.score or 0.0)


class BlamesTheRouteInFit(Broken):
    def fit(self, training: Training) -> Self:
        super().fit(training)
        if training.data.ignored:
            self.means_.add(training.data.routes[0], 0.0)
        return self


class RefusesMeans(Broken):
    def fit(self, training: Training) -> Self:
        if (training.data.cells.trials > 1).any():
            raise ValueError("one trial per cell, please")
        return super().fit(training)


class Scales(Broken):
    def fit(self, training: Training) -> Self:
        training.x[:] *= 2
        return super().fit(training)


class ScalesWhatItScores(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        x += 1
        return super().score(x, routes)


class KnowsOnlyWhatItSaw(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        means = self._require_fitted("means_").all()
        return np.where([r in means for r in routes], super().score(x, routes), np.nan)


class Sure(Broken):
    def success(self, x: Floats, routes: Sequence[Route]) -> Floats:
        return super().success(x, routes) * 1.5


class DividesByTheNorm(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        with np.errstate(invalid="ignore"):
            unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        return shifted(super().score(x, routes), unit[:, :1])


class NeedsTasks(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        return super().score(x, routes) * float(x.max() > -9)


class HardOnly(Broken):
    def fit(self, training: Training) -> Self:
        if not np.isin(training.data.cells.score, (0.0, 1.0)).all():
            raise ValueError("scores must be 0 or 1")
        return super().fit(training)


class NeedsTwo(Broken):
    def fit(self, training: Training) -> Self:
        if len(training.data.cells) == 1:
            raise ValueError("cannot estimate a variance")
        return super().fit(training)


class NeedsOne(Broken):
    def fit(self, training: Training) -> Self:
        super().fit(training).means_.overall(default=training.data.cells.score[0])
        return self


class PlainLogit(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        mean = self._require_fitted("means_").overall(0.5)
        with np.errstate(divide="ignore"):
            return shifted(super().score(x, routes), np.log(mean) - np.log1p(-mean))


class ReturnsNothing(Broken):
    def fit(self, training: Training) -> Self:
        super().fit(training)
        return None  # type: ignore[return-value]


class AnswersUnfitted(Broken):
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        return super().score(x, routes) if hasattr(self, "means_") else np.zeros((len(x), len(routes)))


class ClosedWorld(Broken):
    def observe(self, outcome: Outcome, x: Floats) -> None:
        if outcome.route not in self._require_fitted("means_").all():
            raise KeyError(str(outcome.route))
        super().observe(outcome, x)


class Forgetful(Broken):
    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def fit(self, training: Training) -> Self:
        self.learned_ = self.shift
        return super().fit(training)

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        return shifted(super().score(x, routes), getattr(self, "learned_", 0.0))


class ForgetsSettings(Forgetful):
    @classmethod
    def from_state(cls, state: State) -> Self:
        self = super().from_state(state)
        self.learned_ = 1.0
        return self


class Transposed(Broken):
    def state(self) -> State:
        state = super().state()
        return State({**state.arrays, "extra": np.ones((2, 3)).T}, state.meta)


class NotJson(Broken):
    def state(self) -> State:
        state = super().state()
        return State(state.arrays, {**state.meta, "settings": {1, 2}})


OF_PREDICTIONS = Path(__file__).with_name("test_checks_prediction.py")
"""Where the laws on predictions are broken."""
BROKEN: list[tuple[str, Make, str]] = [
    ("seeded_refit_is_identical", Unseeded, "differ by up to .* after a second fit"),
    ("permuting_routes_permutes_columns", ByPlace, "when the routes are permuted"),
    ("one_route_equals_its_column", ByRank, "without the others"),
    ("batch_equals_single", ByBatch, "differ by up to 4 when a task is scored without the others"),
    ("order_of_outcomes_does_not_matter", ByFits, "in reverse order"),
    ("withheld_outcomes_change_nothing", NeverForgets, "when only withheld outcomes differ"),
    ("infra_errors_change_nothing", BlamesTheRoute, "after infra errors were observed"),
    ("infra_errors_change_nothing", BlamesTheRouteInFit, "in the training set"),
    ("trials_apart_equal_their_mean", RefusesMeans, "ValueError: one trial per cell, please"),
    ("inputs_are_not_modified", Scales, "modified x$"),
    ("inputs_are_not_modified", ScalesWhatItScores, "modified the x given to score"),
    ("unseen_routes_score_finite", KnowsOnlyWhatItSaw, "not finite for .*h-1:m-2"),
    ("success_is_a_probability", Sure, r"reaches from 1\.49\d+ to 1\.49\d+"),
    ("missing_text_works", DividesByTheNorm, "not finite"),
    ("empty_batch_works", NeedsTasks, "ValueError: zero-size array"),
    ("soft_scores_are_accepted", HardOnly, "ValueError: scores must be 0 or 1"),
    ("single_outcome_is_enough", NeedsTwo, "ValueError: cannot estimate a variance"),
    ("no_outcome_is_survived", NeedsOne, "IndexError"),
    ("all_successes_work", PlainLogit, "not finite"),
    ("all_failures_work", PlainLogit, "not finite"),
    ("fit_returns_self", ReturnsNothing, "fit did not return self"),
    ("unfitted_refuses", AnswersUnfitted, "score before fit did not raise NotFitted"),
    ("observe_takes_any_outcome", ClosedWorld, "KeyError: 'h-1:m-2'"),
    ("save_and_load_are_exact", partial(Forgetful, shift=0.5), "differ by up to 0.5 after save and load"),
    ("save_and_load_are_exact", partial(ForgetsSettings, shift=1.0), "differ by up to 1 when .* is refitted"),
    ("save_and_load_are_exact", Transposed, "'extra' of the state is not contiguous"),
    ("save_and_load_are_exact", NotJson, "TypeError: Object of type set is not JSON serializable"),
]


@pytest.mark.parametrize(("name", "make", "how"), BROKEN, ids=[f"{law}-{i}" for i, (law, _, _) in enumerate(BROKEN)])
def test_a_broken_law_is_noticed(name: str, make: Make, how: str) -> None:
    law = next(law for law in LAWS if law.name == name)
    with pytest.raises(CheckFailed, match=f"the law '{name}' is broken: .*{how}"):
        law.check(make)
    with pytest.raises(CheckFailed):
        check_scorer(make)


def test_every_law_has_a_scorer_that_breaks_it() -> None:
    elsewhere = re.findall(r'^    \("(\w+)", \w+, ', OF_PREDICTIONS.read_text(), re.MULTILINE)
    assert {name for name, _, _ in BROKEN} | {*elsewhere} == {law.name for law in LAWS}
    check_scorer(Broken)  # what they are made from is sound


def test_the_cause_is_kept() -> None:
    law = next(law for law in LAWS if law.name == "soft_scores_are_accepted")
    with pytest.raises(CheckFailed) as caught:
        law.check(HardOnly)
    assert isinstance(caught.value.__cause__, ValueError)
    assert isinstance(caught.value, AssertionError)
