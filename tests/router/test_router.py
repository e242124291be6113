"""Router: fit, route, observe, save and load."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.bench.benchmarks.worlds import demo_world
from hmrouter.decide.policy import Policy
from hmrouter.errors import EmbedderMismatch, InputError, NoRoute, NotFitted, RouterFileError, UnknownName, UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.features.lsa import LSA
from hmrouter.router import Router
from hmrouter.router.file import read_router_file
from hmrouter.scorers.base import SCORERS, Scorer
from hmrouter.scorers.fixed import Fixed
from hmrouter.scorers.hm import HM, ComponentOnly
from hmrouter.types import Decision, Evidence, Outcome, Route, Status, Task

NEVER_RUN = Route("birch-coder", "terminal-loop")
TASKS = ["Fix the failing unit test in the museum", "", "翻译手册 🚀", "x" * 5000]

# Quick ones; what is tested here does not depend on how well they have learned.
MAKE: dict[str, Callable[[], Scorer]] = {name: SCORERS.load(name) for name in SCORERS.names()}
MAKE |= {"hm": lambda: HM(epochs=3), "component_only": lambda: ComponentOnly(epochs=3)}


def outcomes() -> list[Outcome]:
    """60 tasks, about half of the cells, one pair never run, one route without a known cost."""
    drawn = (o for o in demo_world(60, seed=1).outcomes(share=0.5) if o.route != NEVER_RUN)
    return [replace(o, cost=None) if str(o.route) == "browser-pilot:atlas-large" else o for o in drawn]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(outcomes())


@pytest.fixture(scope="module")
def fixed(data: Dataset) -> Router:
    """For tests that only ask."""
    return Router("fixed").fit(data)


def without_id(decision: Decision) -> Decision:
    # The regret is a sum over a factorised matrix, which a loaded router computes anew: equal but for rounding.
    regret = decision.expected_regret
    return replace(decision, id="", snapshot="", expected_regret=None if regret is None else round(regret, 9))


def ask(router: Router) -> list[Decision]:
    """Decisions that touch everything: known and unknown routes, texts of all kinds, constraints."""
    pool = [*router.pool_, NEVER_RUN, Route("new-model", "terminal-loop"), Route("atlas-small", "new-harness")]
    asked = [router.route(text, pool=pool) for text in TASKS]
    asked.append(router.route(TASKS[0], cost_weight=0.2, max_cost=1.5, deny=["model=atlas-large"]))
    return [without_id(decision) for decision in asked]


# -- laws of every scorer ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKE)
def test_a_loaded_router_decides_the_same_to_the_last_bit(name: str, data: Dataset, tmp_path: Path) -> None:
    router = Router(MAKE[name](), policy=Policy(cost_weight=0.01)).fit(data)
    router.save(tmp_path / "router.hmr")
    loaded = Router.load(tmp_path / "router.hmr")
    assert ask(loaded) == ask(router)
    assert loaded.policy == router.policy
    assert loaded.report_ == router.report_
    assert (loaded.snapshot.id, loaded.snapshot.fitted_at) == (router.snapshot.id, router.snapshot.fitted_at)
    for outcome in (
        Outcome(Task("new", text="A new task"), NEVER_RUN, 0.5, cost=0.7),
        Outcome(data.tasks[0], data.routes[0], 1.0, n_trials=3),
        Outcome(Task("new"), Route("new-model", "own-harness"), 1.0),
    ):
        router.observe(outcome)
        loaded.observe(outcome)
    assert ask(loaded) == ask(router)
    loaded.save(tmp_path / "again.hmr")
    assert ask(Router.load(tmp_path / "again.hmr")) == ask(router)


@pytest.mark.parametrize("name", MAKE)
def test_one_at_a_time_is_the_same_as_all_at_once(name: str, data: Dataset) -> None:
    router = Router(MAKE[name]()).fit(data)
    tasks: list[str | Task] = [*TASKS, data.tasks[0]]
    for text, together in zip(tasks, router.route_all(tasks), strict=True):
        alone = router.route(text)
        assert together.task == alone.task
        assert together.id != alone.id
        found = {c.route: c.success for c in alone.ranked}
        assert {c.route: c.success for c in together.ranked} == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("name", MAKE)
def test_pairs_that_were_never_run_are_scored_with_the_evidence_of_their_components(name: str, data: Dataset) -> None:
    router = Router(MAKE[name]()).fit(data)
    new = [NEVER_RUN, Route("new", "terminal-loop"), Route("birch-coder", "new"), Route("new", "new")]
    decision = router.route("Fix it", pool=[*data.routes, *new])
    found = {c.route: c for c in decision.ranked}
    # What is a name only is not ranked, here or elsewhere known it may be.
    assert [(u.route, u.what) for u in decision.unknown] == [
        (new[1], "model"), (new[2], "harness"), (new[3], "model and harness"),
    ]  # fmt: skip
    described = Route("claude-opus-4-5", "codex")  # never run anywhere here, but the shipped tables know both
    found |= {c.route: c for c in router.route("Fix it", pool=[*data.routes, described]).ranked}
    assert found.keys() == {*data.routes, NEVER_RUN, described}
    of_model = sum(o.route.model == "birch-coder" for o in outcomes())
    of_harness = sum(o.route.harness == "terminal-loop" for o in outcomes())
    assert [found[r].evidence for r in (NEVER_RUN, described)] == [
        Evidence(0, of_model, of_harness), Evidence(0, 0, 0)
    ]  # fmt: skip
    assert [found[r].cost_basis for r in (NEVER_RUN, described)] == ["model+harness", "unknown"]
    assert found[described].cost is None
    assert not any(found[r].observed for r in (NEVER_RUN, described))
    assert all(found[r].observed for r in data.routes)
    assert all(0.0 <= c.success <= 1.0 and np.isfinite(c.score) for c in found.values())


@pytest.mark.parametrize("name", MAKE)
def test_infra_errors_change_no_prediction(name: str, data: Dataset) -> None:
    router = Router(MAKE[name]()).fit(data)
    before = ask(router)
    for status in (Status.INFRA_ERROR, Status.UNKNOWN):
        router.observe(Outcome(data.tasks[0], data.routes[0], None, status=status, cost=99.0))
        router.observe(Outcome(data.tasks[0], data.routes[0], 0.0, status=status))
    assert ask(router) == before


@pytest.mark.parametrize("name", MAKE)
def test_the_file_holds_no_text_and_no_id_of_a_task(name: str, tmp_path: Path) -> None:
    secret = [
        Outcome(Task(f"zebra-{i}", "ours", f"Quagga payroll giraffe{i} okapi\nZürichsee {i}"), r, i % 2, run="ibex")
        for i, r in itertools.product(range(9), (Route("gpt-5", "codex"), Route("gpt-5", "aider")))
    ]
    router = Router(MAKE[name]()).fit(Dataset(secret))
    router.observe(Outcome(Task("zebra-new", "ours", "Another quagga"), Route("gpt-5", "codex"), 1.0))
    router.route("Quagga again")
    router.save(tmp_path / "router.hmr")
    written = (tmp_path / "router.hmr").read_bytes().lower()
    for word in ("zebra", "quag", "payr", "gira", "okap", "zürich", "another", "ibex"):
        assert word.encode() not in written
    terms = read_router_file(tmp_path / "router.hmr").arrays["embedder/terms"]
    assert len(terms) > 50
    assert terms.dtype == np.uint64  # at most three characters each, no words


# -- learning ---------------------------------------------------------------------------------------------------------


def test_nothing_to_learn_from() -> None:
    with pytest.raises(
        InputError, match="there is no outcome with a score to learn from; give a data set that has some"
    ):
        Router().fit(Dataset([]))
    broken = Outcome(Task("t"), Route("gpt-5", "codex"), None, status=Status.INFRA_ERROR)
    with pytest.raises(InputError, match=r"learn from \(2 have status infra_error or unknown\)"):
        Router().fit(Dataset([broken, replace(broken, status=Status.UNKNOWN)]))


def test_before_fit(tmp_path: Path) -> None:
    uses: list[Callable[[], object]] = [
        lambda: Router().route("Fix it"),
        lambda: Router().save(tmp_path / "router.hmr"),
        lambda: Router().observe(outcomes()[0]),
    ]
    for use in uses:
        with pytest.raises(NotFitted, match=r"call fit\(data\) or Router.load\(path\) first"):
            use()
    with pytest.raises(UnknownName, match="scorer 'fixd' is not known; did you mean 'fixed'"):
        Router("fixd")


def test_the_report_says_what_it_was_fitted_on(data: Dataset, fixed: Router) -> None:
    broken = Outcome(Task("t"), Route("gpt-5", "codex"), None, status=Status.INFRA_ERROR)
    twice = [replace(o, n_trials=2, trial="again") for o in outcomes()[:5]]
    report = Router("fixed").fit(Dataset([*outcomes(), *twice, broken])).report_
    assert (report.outcomes, report.cells) == (len(outcomes()) + 10, len(outcomes()))
    assert (report.tasks, report.routes, report.observed_routes) == (61, 12, 11)
    assert (report.models, report.harnesses) == (5, 4)
    assert (report.suites, report.ignored) == (("default", "simulated"), {"infra_error": 1})
    assert fixed.report_.ignored == {}


def test_progress_is_reported_and_not_kept(data: Dataset) -> None:
    seen: list[tuple[int, int]] = []
    router = Router(HM(epochs=2)).fit(data, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
    assert router.scorer.progress is None


def test_a_decision_becomes_an_outcome_becomes_evidence(data: Dataset) -> None:
    router = Router("fixed").fit(data)
    decision = router.route("Fix it")
    before = decision.evidence
    router.observe(decision.outcome(score=0, cost=0.42))
    after = router.route("Fix it", pool=[decision.route])
    assert after.evidence == Evidence(before.pair + 1, before.model + 1, before.harness + 1)
    assert after.success < decision.success


def test_an_outcome_of_a_new_route_puts_it_into_the_pool(data: Dataset) -> None:
    router = Router("fixed").fit(data)
    new = Route("new-model", "new-harness")
    router.observe(Outcome(Task("t"), new, None, status=Status.INFRA_ERROR))
    listed = {c.route: c for c in router.route("Fix it").ranked}
    assert (listed[new].observed, listed[new].evidence, listed[new].cost) == (False, Evidence(0, 0, 0), None)
    router.observe(Outcome(Task("t"), new, 1.0, cost=0.25))
    chosen = router.route("Fix it")
    assert (chosen.route, chosen.observed, chosen.evidence) == (new, True, Evidence(1, 1, 1))
    assert chosen.cost == pytest.approx(0.25, rel=0.2)  # one run leans on what others cost
    assert list(router.pool_) == sorted(router.pool_)


# -- deciding ---------------------------------------------------------------------------------------------------------


def test_the_pool_and_its_rules(data: Dataset, fixed: Router) -> None:
    assert {c.route for c in fixed.route("Fix it").ranked} == set(data.routes)
    two = [data.routes[3], data.routes[1], data.routes[3]]
    assert {c.route for c in fixed.route("Fix it", pool=two).ranked} == set(two)
    assert len(fixed.route("Fix it", pool=two).ranked) == 2  # each once
    left = fixed.route("Fix it", allow=["model=atlas-large,cedar-mini"], deny=["harness=browser-pilot"]).ranked
    assert {c.route for c in left} == {
        Route(m, h) for m in ("atlas-large", "cedar-mini") for h in ("terminal-loop", "office-planner")
    }
    with pytest.raises(UnknownName, match="route 'terminal-loop:birch-coder' is not in the pool"):
        fixed.route("Fix it", allow=[str(NEVER_RUN)])  # never run, so not in the default pool
    assert fixed.route("Fix it", pool=[*data.routes, NEVER_RUN], allow=[str(NEVER_RUN)]).route == NEVER_RUN
    with pytest.raises(NoRoute, match="the pool is empty"):
        fixed.route("Fix it", pool=[])


def test_the_list_can_be_short_but_not_empty(fixed: Router) -> None:
    whole = fixed.route("Fix it")
    assert fixed.route("Fix it", top=2).ranked == whole.ranked[:2]
    assert fixed.route("Fix it", top=99).ranked == whole.ranked
    for top in (0, -1):
        with pytest.raises(UsageError, match=f"top {top} is not at least 1"):
            fixed.route("Fix it", top=top)


def test_no_tasks_give_no_decisions(fixed: Router) -> None:
    assert fixed.route_all([]) == []


def test_a_text_and_its_task_are_the_same(fixed: Router) -> None:
    text = "Fix the failing CI job"
    assert without_id(fixed.route(text)) == without_id(fixed.route(Task.of_text(text)))
    assert fixed.route(Task("own-id", "ours", text)).task == Task("own-id", "ours", text)


def test_constraints_of_the_call_win_over_the_policy(data: Dataset) -> None:
    router = Router("fixed", policy=Policy(cost_weight=5.0, max_cost=0.2)).fit(data)
    careful = router.route("Fix it")
    assert careful.cost is not None
    assert careful.cost <= 0.2
    assert (careful.cost_weight, careful.max_cost) == (5.0, 0.2)
    assert careful.excluded["over max_cost"] > 0
    free = router.route("Fix it", cost_weight=0.0, max_cost=100.0)
    assert free.success > careful.success


def test_ties_go_to_the_cheaper_then_to_the_name() -> None:
    def made(costs: dict[str, float]) -> list[str]:
        even = [Outcome(Task("t"), Route.parse(r), 1.0, cost=c) for r, c in costs.items()]
        return [str(c.route) for c in Router("fixed").fit(Dataset(even)).route("Fix it").ranked]

    assert made({"c:m": 0.3, "a:m": 0.3, "b:m": 0.2}) == ["b:m", "a:m", "c:m"]


def test_without_any_cost_a_cap_is_refused_clearly() -> None:
    free = [replace(o, cost=None) for o in outcomes()]
    router = Router("fixed").fit(Dataset(free))
    assert router.route("Fix it").cost is None
    for limits in ({"max_cost": 1.0}, {"cost_weight": 0.1}):
        with pytest.raises(NoRoute, match="none of the 11 routes has a known cost, so no cap, cost weight or budget"):
            router.route("Fix it", **limits)  # type: ignore[arg-type]


CELL = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.booleans(), st.none() | st.integers(0, 96))


@settings(max_examples=40)
@given(
    cells=st.lists(CELL, min_size=1, max_size=20), cap=st.integers(0, 96), weights=st.tuples(*[st.integers(0, 8)] * 2)
)
def test_a_cap_is_never_exceeded_and_a_larger_weight_never_buys_dearer(
    cells: list[tuple[int, int, int, bool, int | None]], cap: int, weights: tuple[int, int]
) -> None:
    made = [
        Outcome(Task(str(t)), Route(f"m{m}", f"h{h}"), float(won), cost=None if c is None else c / 32)
        for t, m, h, won, c in cells
    ]
    router = Router(Fixed()).fit(Dataset(made))
    pool = [Route(f"m{m}", f"h{h}") for m in range(3) for h in range(4)]  # run and never run
    chosen = []
    for weight in sorted(weights):
        try:
            decision = router.route("Fix it", pool=pool, max_cost=cap / 32, cost_weight=weight / 4)
        except NoRoute:
            assert all(c.dollars is None or c.dollars > cap / 32 for c in router.snapshot.costs.of_all(pool))
            return
        assert decision.cost is not None
        assert decision.cost <= cap / 32
        assert all(c.cost is not None and c.cost <= cap / 32 for c in decision.ranked)
        chosen.append(decision.cost)
    assert chosen[1] <= chosen[0] + 1e-9


# -- keeping ----------------------------------------------------------------------------------------------------------


def test_own_descriptions_are_kept(data: Dataset, tmp_path: Path) -> None:
    words = HarnessDescriptions({"Our Agent": "A shell loop for our build farm."})
    Router("fixed", descriptions=words).fit(data).save(tmp_path / "router.hmr")
    assert Router.load(tmp_path / "router.hmr").descriptions.text("our-agent") == "A shell loop for our build farm."


def test_another_embedder_is_refused(data: Dataset, fixed: Router, tmp_path: Path) -> None:
    fixed.save(tmp_path / "router.hmr")
    same = LSA().fit([t.text for t in data.tasks])
    assert Router.load(tmp_path / "router.hmr", embedder=same).embedder is same
    for other in (LSA().fit(["something", "else"]), LSA(dims=5).fit([t.text for t in data.tasks])):
        with pytest.raises(
            EmbedderMismatch, match=r"trained with another embedder: .*revision '.*' instead of '.*'; use"
        ):
            Router.load(tmp_path / "router.hmr", embedder=other)


def test_a_file_that_needs_a_plugin_says_so(fixed: Router, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fixed, "name", "their_scorer")
    fixed.save(tmp_path / "router.hmr")
    with pytest.raises(
        RouterFileError, match="needs a plug-in that is not installed here: scorer 'their_scorer' is not"
    ):
        Router.load(tmp_path / "router.hmr")
