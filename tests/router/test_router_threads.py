"""Many threads ask while others learn: no exception, and every answer is the one its snapshot gives alone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from hmrouter.evidence.dataset import Dataset
from hmrouter.history.public import shipped
from hmrouter.router import Router
from hmrouter.router.snapshot import PoolRequest, Snapshot
from hmrouter.scorers.base import SCORERS
from hmrouter.types import Decision, Outcome, Route, Task

ROUTES = [Route(m, h) for m in ("gpt-5", "claude-opus-4-5", "gemini-2-5-pro") for h in ("codex", "openhands", "aider")]
NEVER = [Route("gpt-5", "claude-code"), Route("o3", "codex")]
TEXTS = [f"Fix bug {i} in the {word}" for i in range(8) for word in ("parser", "report")]


@pytest.fixture(autouse=True)
def switching() -> Iterator[None]:
    """Threads take turns as often as the interpreter lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def outcomes(n: int, seed: int) -> list[Outcome]:
    rng = np.random.default_rng(seed)
    run = ROUTES[:-1] if seed == 0 else ROUTES  # one is run for the first time while others ask
    return [
        Outcome(
            Task(f"{seed}-{i // 3}", text=TEXTS[i % len(TEXTS)]), run[int(rng.integers(len(run)))],
            float(rng.random() < 0.5), cost=float(rng.random()),
        )
        for i in range(n)
    ]  # fmt: skip


def question(i: int) -> tuple[str, PoolRequest]:
    """Pools that differ, routes that were never run among them."""
    pool = [*ROUTES, *NEVER[: i % 3]][i % 4 :]
    return TEXTS[i % len(TEXTS)], PoolRequest(pool if i % 5 else None)


def plain(decision: Decision) -> Decision:
    return replace(decision, id="")


@pytest.mark.parametrize(
    ("scorer", "questions"),
    [("safe", 800), ("hm", 800), ("knn", 800), ("fixed", 800), pytest.param("safe", 10_000, marks=pytest.mark.heavy)],
)
def test_every_decision_is_of_one_state(scorer: str, questions: int) -> None:
    settings = {"epochs": 3} if scorer == "hm" else {}
    router = Router(SCORERS.load(scorer)(**settings)).fit(Dataset(outcomes(90, 0)), history=shipped()[:40])
    snapshots: dict[str, Snapshot] = {router.snapshot.id: router.snapshot}
    answers: list[tuple[int, Decision]] = []
    errors: list[BaseException] = []
    over, numbers = threading.Event(), count()

    def ask() -> None:
        try:
            while (i := next(numbers)) < questions or len(snapshots) < 30:  # however slow the others are
                text, asked = question(i)
                made = router.route(text, pool=asked.pool, cost_weight=0.01 * (i % 2))
                answers.append((i, made))
        except BaseException as e:  # whatever it is, it is the finding
            errors.append(e)

    def observe() -> None:
        try:
            for outcome in outcomes(5000, 1):
                if over.is_set():
                    return
                router.observe(outcome)
                snapshots[router.snapshot.id] = router.snapshot
        except BaseException as e:
            errors.append(e)

    def refit() -> None:
        try:
            while not over.wait(0.05):
                router.refit()
        except BaseException as e:
            errors.append(e)

    def watch() -> None:
        while not over.is_set():
            now = router.snapshot
            snapshots[now.id] = now

    askers = [threading.Thread(target=ask) for _ in range(8)]
    others = [threading.Thread(target=work) for work in (observe, refit, watch)]
    for thread in (*askers, *others):
        thread.start()
    for thread in askers:
        thread.join()
    over.set()
    for thread in others:
        thread.join()
    assert errors == []
    assert len(answers) >= questions
    known = [(i, made) for i, made in answers if made.snapshot in snapshots]
    assert len(known) > 0.5 * len(answers)  # a snapshot that came and went between two looks is not kept
    assert len({made.snapshot for _, made in known}) > 3
    for i, made in known[:: max(1, len(known) // 2000)]:
        text, asked = question(i)
        policy = router.policy.given(cost_weight=0.01 * (i % 2))
        alone = replace(snapshots[made.snapshot]).route_all([text], policy, asked)[0]  # a copy remembers nothing
        assert plain(made) == plain(alone)
