"""What other suites say helps where it holds, and does little harm where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from hmrouter.evidence.dataset import Dataset
from hmrouter.history import Record, SuiteBelief, learn, records_of
from hmrouter.history.families import families_by_overlap
from hmrouter.history.public import believe
from hmrouter.scorers.base import Prediction, Training
from hmrouter.scorers.safe import Safe, SafeAlone
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route, Task

ROUTES = [Route(f"maker{m % 4}-x{m}", f"harness-{h}") for m in range(10) for h in range(4)]


def interval_of(prediction: Prediction) -> tuple[Floats, Floats]:
    """The interval, of a scorer that gives one."""
    assert prediction.interval is not None
    return prediction.interval


class World:
    """Effects of models and harnesses that all suites share."""

    def __init__(self, seed: int, model: float = 0.8, harness: float = 0.4) -> None:
        self.rng = np.random.default_rng(seed)
        self.model = {r.model: self.rng.normal(0, model) for r in ROUTES}
        self.harness = {r.harness: self.rng.normal(0, harness) for r in ROUTES}

    def rate(self, route: Route, level: float = 0.0, sign: float = 1.0) -> float:
        logit = level + sign * (self.model[route.model] + self.harness[route.harness])
        return float(1.0 / (1.0 + np.exp(-logit)))

    def outcomes(
        self, suite: str, tasks: int, routes: list[Route] | None = None, sign: float = 1.0, level: float = 0.0
    ) -> list[Outcome]:
        """Every task on every route; `sign` -1 turns the shared effects upside down."""
        return [
            Outcome(Task(f"{suite}-{t}", suite), r, float(self.rng.random() < self.rate(r, level, sign)))
            for t in range(tasks)
            for r in routes or ROUTES
        ]

    def suite(self, name: str, tasks: int, **how: float) -> Dataset:
        return Dataset(self.outcomes(name, tasks, sign=how.get("sign", 1.0), level=how.get("level", 0.0)))

    def best(self) -> float:
        return max(self.rate(r) for r in ROUTES)


def records(*suites: Dataset) -> list[Record]:
    return [record for suite in suites for record in records_of(suite)]


def chosen(data: Dataset, belief: SuiteBelief | None, scorer: type[Safe] = Safe) -> Route:
    safe = scorer().fit(Training(data, np.zeros((len(data.tasks), 1)), {}, belief))
    best: Route = ROUTES[int(safe.predict(np.zeros((1, 1)), ROUTES).merit[0].argmax())]
    return best


def thin(world: World, seed: int) -> Dataset:
    """Fifteen tasks, each on three of the routes: far too little to tell forty routes apart."""
    rng, outcomes = np.random.default_rng(seed), world.outcomes("mine", 15)
    keep = {(f"mine-{t}", i) for t in range(15) for i in rng.choice(len(ROUTES), 3, replace=False)}
    return Dataset([o for o in outcomes if (o.task.id, ROUTES.index(o.route)) in keep], routes=ROUTES)


def regrets(seeds: range, others: object) -> tuple[float, float]:
    """Mean regret of safe with and without history, over worlds; `others` makes the history of each."""
    with_history, alone = [], []
    for seed in seeds:
        world = World(seed)
        belief = learn(others(world))  # type: ignore[operator]
        mine = thin(world, seed)
        with_history.append(world.best() - world.rate(chosen(mine, belief)))
        alone.append(world.best() - world.rate(chosen(mine, belief, SafeAlone)))
    return float(np.mean(with_history)), float(np.mean(alone))


def test_suites_that_agree_help_a_thin_one() -> None:
    told, alone = regrets(range(6), lambda w: records(*(w.suite(f"s{i}", 40) for i in range(3))))
    assert told < alone - 0.05
    assert told < 0.05


def test_a_suite_without_outcomes_is_answered_from_the_others() -> None:
    world = World(1)
    belief = learn(records(*(world.suite(f"s{i}", 60) for i in range(4))))
    assert belief is not None
    empty = Dataset([], routes=ROUTES)
    safe = Safe().fit(Training(empty, np.zeros((0, 1)), {}, belief))
    route = ROUTES[int(safe.predict(np.zeros((1, 1)), ROUTES).merit[0].argmax())]
    assert world.best() - world.rate(route) < 0.08
    low, high = interval_of(safe.predict(np.zeros((1, 1)), ROUTES))
    inside = [low[0, j] <= world.rate(r) <= high[0, j] for j, r in enumerate(ROUTES)]
    assert np.mean(inside) > 0.8


def test_the_suite_s_own_outcomes_soon_overrule() -> None:
    """Other suites are upside down; with two hundred tasks of its own, the suite goes its own way."""
    world = World(2)
    belief = learn(records(*(world.suite(f"s{i}", 60, sign=-1.0) for i in range(3))))
    told, alone = (chosen(world.suite("mine", 200), belief, scorer) for scorer in (Safe, SafeAlone))
    assert world.rate(told) >= world.rate(alone) - 0.005


def test_a_suite_counted_twice_says_no_more_than_once() -> None:
    world = World(3)
    suites = [world.suite(f"s{i}", 50) for i in range(3)]
    again = [Record("copy", r.route, r.tasks, r.mean, family="s0") for r in records_of(suites[0])]
    once, twice = learn(records(*suites)), learn([*records(*suites), *again])
    assert once is not None
    assert twice is not None
    assert np.allclose(once.mean(ROUTES), twice.mean(ROUTES))
    ids = {s.suites[0]: {t.id for t in s.tasks} for s in suites}
    assert (
        families_by_overlap({**ids, "copy": ids["s0"]})["copy"] == families_by_overlap({**ids, "copy": ids["s0"]})["s0"]
    )


def test_an_adversarial_suite_among_honest_ones_does_little_harm() -> None:
    def honest(w: World) -> list[Record]:
        return records(*(w.suite(f"s{i}", 40) for i in range(4)))

    def poisoned(w: World) -> list[Record]:
        return honest(w) + records(w.suite("bad", 40, sign=-1.0))

    told, _ = regrets(range(10), honest)
    misled, alone = regrets(range(10), poisoned)
    assert misled < told + 0.03
    assert misled < alone


def test_a_model_under_two_names_does_little_harm() -> None:
    def renamed(w: World) -> list[Record]:
        out = []
        for record in records(*(w.suite(f"s{i}", 40) for i in range(3))):
            other = record.route.model == ROUTES[0].model and record.suite == "s1"
            route = Route("other-name", record.route.harness) if other else record.route
            out.append(Record(record.suite, route, record.tasks, record.mean))
        return out

    told, _ = regrets(range(6), lambda w: records(*(w.suite(f"s{i}", 40) for i in range(3))))
    split, _ = regrets(range(6), renamed)
    assert split < told + 0.02


def test_its_own_family_has_no_say() -> None:
    world = World(4)
    both = records(world.suite("a", 20), world.suite("b", 20))
    without = believe(both, ["a"])
    assert without is not None
    assert {r.family for r in without.records} == {"b"}
    assert believe(both, ["a", "b"]) is None


def test_saved_and_loaded_it_says_the_same() -> None:
    belief = learn(records(World(5).suite("a", 20)))
    assert belief is not None
    state = belief.state()
    again = SuiteBelief.from_state(State(dict(state.arrays), dict(state.meta)))
    asked = [*ROUTES[:3], Route("never-seen", "harness-0"), Route("never", "seen")]
    assert np.allclose(belief.mean(asked), again.mean(asked), atol=1e-9)
    assert np.allclose(belief.cov(asked, asked), again.cov(asked, asked), atol=1e-9)


def test_what_is_unknown_is_more_uncertain() -> None:
    belief = learn(records(*(World(6).suite(f"s{i}", 40) for i in range(3))))
    assert belief is not None
    var = np.diag(belief.cov([ROUTES[0], Route("never", "seen")], [ROUTES[0], Route("never", "seen")]))
    assert var[1] > var[0] > 0.0


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_suites_in_which_all_is_equal(rate: float) -> None:
    same = [Record("s", r, 20, rate) for r in ROUTES]
    belief = learn(same)
    assert belief is not None
    assert np.isfinite(belief.mean(ROUTES)).all()
    assert np.isfinite(belief.cov(ROUTES, ROUTES)).all()
