"""EmbedLLM, IrtNet and MIRT: their equations written a second time, planted worlds, and what PyTorch must not touch."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrouter.bench.baselines.embedllm import EmbedLLM
from hmrouter.bench.baselines.irtnet import IrtNet
from hmrouter.bench.baselines.learned import Learned
from hmrouter.bench.baselines.mirt import MIRT
from hmrouter.bench.baselines.task_batches import TaskBatches
from hmrouter.checks import LAWS, Law
from hmrouter.errors import EmbedderMismatch, MissingExtra
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Training
from hmrouter.state import State
from hmrouter.types import Outcome, Route, Task

pytestmark = pytest.mark.heavy
torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")

Grid = np.ndarray[Any, np.dtype[Any]]
ROUTES = [Route(f"m-{j:02}", "h") for j in range(12)]
DIMS = 8
SMALL: dict[str, Callable[[], Learned]] = {
    "embedllm": lambda: EmbedLLM(d=6, epochs=3),
    "irtnet": lambda: IrtNet(d=5, experts=3, hidden=7, output=4, epochs=3),
    "mirt": lambda: MIRT(d=4, epochs=3),
}
each_baseline = pytest.mark.parametrize("name", SMALL)


def unit(v: Grid) -> Grid:
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def low_rank(x: Grid, rng: np.random.Generator) -> Grid:
    """Two hidden dims of tasks and routes, and no route that is better on average."""
    return np.asarray(6.0 * x[:, :2] @ unit(rng.standard_normal((len(ROUTES), 2))).T)


def item_response(x: Grid, rng: np.random.Generator) -> Grid:
    """Three abilities; every route has one of them, every task demands them to its own degree, some are harder."""
    demand = np.logaddexp(0.0, 8.0 * x[:, :3])
    ability = np.where(np.arange(len(ROUTES))[:, None] % 3 == np.arange(3), 1.1, -0.6)
    return np.asarray(demand @ ability.T - 2.0 * x[:, [3]])


def world(logits: Callable[[Grid, np.random.Generator], Grid], n: int = 500) -> tuple[Training, Grid, Grid]:
    """A training set with 70% of its cells, the vectors of new tasks and their true success."""
    rng = np.random.default_rng(0)
    x = unit(rng.standard_normal((n, DIMS))).astype(np.float32)
    success = 1.0 / (1.0 + np.exp(-logits(x, rng)))
    seen = n - 100
    outcomes = [
        Outcome(Task(f"t{i:04}"), route, float(rng.random() < success[i, j]))
        for i in range(seen)
        for j, route in enumerate(ROUTES)
        if rng.random() < 0.7
    ]
    return Training(Dataset(outcomes), x[:seen], {}), x[seen:], success[seen:]


def sparse_training(n: int = 9, routes: int = 4) -> Training:
    """Soft scores on about half of the cells."""
    rng = np.random.default_rng(3)
    cells = [(i, j) for i in range(n) for j in range(routes) if (i + j) % 2 or i == j]
    outcomes = [Outcome(Task(f"t{i}"), ROUTES[j], round(float(rng.random()), 2)) for i, j in cells]
    return Training(Dataset(outcomes), rng.standard_normal((n, DIMS)).astype(np.float32), {})


# -- the equations, a second time ------------------------------------------------------------------------------------


def random_weights(name: str) -> tuple[Learned, dict[str, Grid]]:
    """A scorer whose weights are large and fixed, made through its saved form."""
    state = SMALL[name]().fit(sparse_training()).state()
    rng = np.random.default_rng(7)
    arrays = {key: rng.standard_normal(a.shape).astype(np.float32) for key, a in state.arrays.items()}
    scorer = type(SMALL[name]()).from_state(State(arrays, state.meta))
    return scorer, {key: a.astype(np.float64) for key, a in arrays.items()}


def dot(a: Any, b: Any) -> float:
    return math.fsum(float(u) * float(v) for u, v in zip(a, b, strict=True))


def embedllm_by_hand(w: dict[str, Grid], x: Grid, r: int) -> float:
    q = [dot(w["W"][k], x) + w["b"][k] for k in range(len(w["b"]))]
    logits = [dot(w["C"][c], [w["P"][r][k] * q[k] for k in range(len(q))]) + w["c"][c] for c in (0, 1)]
    return float(logits[1] - logits[0])


def mirt_by_hand(w: dict[str, Grid], x: Grid, r: int) -> float:
    a = [math.log1p(math.exp(dot(row, x))) for row in w["W_a"]]
    return dot(a, w["theta"][r]) - dot(w["w_b"], x)


def irtnet_by_hand(w: dict[str, Grid], x: Grid, r: int) -> float:
    experts, hidden = len(w["b_g"]), len(w["b_1"]) // (len(w["b_g"]) + 1)

    def expert(i: int) -> list[float]:
        layer = [max(0.0, dot(w["W_1"][i * hidden + k], x) + w["b_1"][i * hidden + k]) for k in range(hidden)]
        rows = w["W_2"][i * hidden : (i + 1) * hidden]
        return [dot(layer, rows[:, o]) + w["b_2"][i][o] for o in range(rows.shape[1])]

    gate = [math.exp(dot(w["W_g"][i], x) + w["b_g"][i]) for i in range(experts)]
    h = expert(0)
    for i in range(experts):
        h = [total + gate[i] / sum(gate) * v for total, v in zip(h, expert(i + 1), strict=True)]
    a = [dot(row, h) + b for row, b in zip(w["W_a"], w["b_a"], strict=True)]
    return dot(a, w["theta"][r]) - (dot(w["w_b"], h) + float(w["b_b"][0]))


@pytest.mark.parametrize(
    ("name", "by_hand"), [("embedllm", embedllm_by_hand), ("mirt", mirt_by_hand), ("irtnet", irtnet_by_hand)]
)
def test_equation_matches_a_second_implementation(
    name: str, by_hand: Callable[[dict[str, Grid], Grid, int], float]
) -> None:
    scorer, weights = random_weights(name)
    x = np.random.default_rng(8).standard_normal((5, DIMS))
    expected = [[by_hand(weights, row, r) for r in range(4)] for row in x]
    np.testing.assert_allclose(scorer.score(x, ROUTES[:4]), expected, rtol=1e-5, atol=1e-5)


def test_embedllm_learns_as_a_plain_pytorch_loop_over_cells_does() -> None:
    """Two-way cross-entropy with soft targets, cell by cell, is what the dense masked batches compute."""
    fitted = sparse_training()
    plain: dict[str, Any] = {"d": 6, "noise": 0.0, "lr": 1e-2, "weight_decay": 1e-2, "min_steps": 0}
    start = EmbedLLM(**plain, epochs=0).fit(fitted).state().arrays
    w = {key: torch.tensor(a, requires_grad=True) for key, a in start.items()}
    adam = torch.optim.Adam(list(w.values()), lr=1e-2, weight_decay=1e-2)
    cells = fitted.data.cells
    task, route = torch.tensor(cells.task), torch.tensor(cells.route)
    y = torch.tensor(cells.score, dtype=torch.float32)
    for _ in range(4):
        adam.zero_grad()
        q = torch.nn.functional.linear(torch.tensor(fitted.x)[task], w["W"], w["b"])
        logits = torch.nn.functional.linear(w["P"][route] * q, w["C"], w["c"])
        torch.nn.functional.cross_entropy(logits, torch.stack([1 - y, y], dim=1)).backward()
        adam.step()
    learned = EmbedLLM(**plain, epochs=4).fit(fitted).state().arrays
    for key, value in w.items():
        np.testing.assert_allclose(learned[key], value.detach().numpy(), atol=1e-5, err_msg=key)


# -- planted worlds --------------------------------------------------------------------------------------------------
# The authors' learning rates and batches are for large sets: here a few more steps, everything else small.


@pytest.mark.parametrize(
    ("make", "logits"),
    [
        (lambda: EmbedLLM(batch=128), low_rank),
        (lambda: MIRT(epochs=60), item_response),
        (lambda: IrtNet(experts=4, hidden=64, output=32, d=32, lr=1e-3, batch=256), item_response),
    ],
    ids=["embedllm", "mirt", "irtnet"],
)
def test_beats_random_clearly_on_a_world_that_fits_it(
    make: Callable[[], Learned], logits: Callable[[Grid, np.random.Generator], Grid]
) -> None:
    training, x, success = world(logits)
    random, best = success.mean(), success.max(axis=1).mean()
    chosen = make().fit(training).score(x, ROUTES).argmax(axis=1)
    reached = success[np.arange(len(x)), chosen].mean()
    assert reached > random + 0.75 * (best - random)


# -- contracts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@each_baseline
def test_obeys_the_laws(name: str, law: Law) -> None:
    law.check(SMALL[name])


def test_authors_settings() -> None:
    e, i, m = EmbedLLM(), IrtNet(), MIRT()
    assert (e.d, e.noise, e.lr, e.weight_decay, e.batch, e.epochs) == (232, 0.05, 1e-4, 1e-5, 2048, 50)
    assert (i.d, i.experts, i.hidden, i.output, i.dropout, i.noise) == (232, 39, 512, 256, 0.5, 0.05)
    assert (i.lr, i.weight_decay, i.batch, i.epochs, i.patience) == (1e-4, 1e-4, 2048, 30, 5)
    assert (m.d, m.lr, m.weight_decay, m.batch, m.epochs, m.noise) == (25, 1e-3, 0.0, 512, 9, 0.0)


@each_baseline
def test_a_route_never_run_ranks_just_below_the_worst(name: str) -> None:
    x = np.random.default_rng(1).standard_normal((6, DIMS))
    scores = SMALL[name]().fit(sparse_training()).score(x, [*ROUTES[:4], Route("new", "h")])
    np.testing.assert_allclose(scores[:, 4], scores[:, :4].min(axis=1) - 1e-3)


@each_baseline
def test_a_route_begins_the_same_whatever_others_there_are(name: str) -> None:
    make: Any = type(SMALL[name]())
    few, many = (make(epochs=0).fit(sparse_training(routes=n)) for n in (3, 4))
    rows = [s.state().arrays[s.identity] for s in (few, many)]
    # MIRT's rows scale with the number of routes, as a linear layer over identities does; their direction is theirs.
    np.testing.assert_allclose(unit(rows[0]), unit(rows[1])[:3], rtol=1e-6)
    assert not np.allclose(rows[1][0], rows[1][1])


def numpy_state() -> list[int]:
    legacy: Any = np.random.get_state()
    return [*legacy[1].tolist(), *legacy[2:]]


@each_baseline
def test_fit_leaves_the_process_as_it_was(name: str) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        before, numpy_before = torch.get_rng_state().clone(), numpy_state()
        SMALL[name]().fit(sparse_training())
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), before)
        assert numpy_state() == numpy_before
    finally:
        torch.set_num_threads(threads)


@each_baseline
def test_another_seed_gives_another_fit(name: str) -> None:
    x = np.random.default_rng(1).standard_normal((3, DIMS))
    other = SMALL[name]()
    other.seed = 1
    here, there = (s.fit(sparse_training()).score(x, ROUTES[:4]) for s in (SMALL[name](), other))
    assert not np.allclose(here, there)


@each_baseline
def test_without_torch_a_fitted_baseline_scores_and_fit_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = SMALL[name]().fit(sparse_training())
    x = np.random.default_rng(1).standard_normal((3, DIMS))
    expected = fitted.score(x, ROUTES)
    monkeypatch.setitem(sys.modules, "torch", None)
    np.testing.assert_array_equal(type(fitted).from_state(fitted.state()).score(x, ROUTES), expected)
    with pytest.raises(MissingExtra, match=rf"the baseline '{name}' needs .* '\.\[bench\]'"):
        fitted.fit(sparse_training())


def test_importing_the_baselines_does_not_import_torch() -> None:
    modules = ["embedllm", "irtnet", "mirt", "avengers", "avengers_pro"]
    code = "\n".join(f"import hmrouter.bench.baselines.{m}" for m in modules)
    code += "\nimport sys; sys.exit(bool({'torch', 'sklearn'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_vectors_of_other_dims_are_refused() -> None:
    with pytest.raises(EmbedderMismatch, match="5 dims, but this scorer was fitted on 8"):
        SMALL["mirt"]().fit(sparse_training()).score(np.zeros((1, 5)), ROUTES)


# -- early stopping --------------------------------------------------------------------------------------------------


def test_irtnet_stops_when_validation_no_longer_gains_and_keeps_the_best() -> None:
    training, _, _ = world(lambda x, rng: np.zeros((len(x), len(ROUTES))), n=160)  # nothing to learn: soon overfitted
    seen: list[int] = []
    small: dict[str, Any] = {"experts": 2, "hidden": 32, "output": 16, "d": 16, "lr": 3e-3, "batch": 64}
    stopped = IrtNet(**small, epochs=60, patience=4)
    stopped.progress = lambda done, total: seen.append(done)
    stopped.fit(training)
    assert 4 < seen[-1] < 60
    # What is kept is the epoch before the patience began: stopping right there gives the same weights.
    exact = IrtNet(**small, epochs=seen[-1] - 4, patience=4).fit(training)
    for key, value in exact.state().arrays.items():
        np.testing.assert_array_equal(stopped.state().arrays[key], value)


def test_a_route_that_only_validation_saw_counts_as_never_run() -> None:
    x = np.random.default_rng(0).standard_normal((10, DIMS)).astype(np.float32)
    outcomes = [Outcome(Task(f"t{i}"), ROUTES[i], 1.0) for i in range(10)]
    fitted = IrtNet(d=5, experts=3, hidden=7, output=4, epochs=2).fit(Training(Dataset(outcomes), x, {}))
    scores = fitted.score(x, ROUTES[:10])
    unknown = fitted.score(x, [Route("new", "h")])
    assert (scores == unknown).all(axis=0).sum() == 1


# -- batches ---------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(n=st.integers(1, 12), cells=st.integers(1, 20), seed=st.integers(0, 20), shuffled=st.booleans())
def test_batches_hold_every_cell_once_and_whole_tasks(n: int, cells: int, seed: int, shuffled: bool) -> None:
    rng = np.random.default_rng(seed)
    grid = np.where(rng.random((n, 3)) < 0.6, rng.random((n, 3)).round(2), np.nan)
    outcomes = [Outcome(Task(f"t{i:02}"), ROUTES[j], grid[i, j]) for i, j in np.argwhere(~np.isnan(grid)).tolist()]
    data = Dataset(outcomes, tasks=[Task(f"t{i:02}") for i in range(n)], routes=ROUTES[:3])
    x = np.arange(n, dtype=np.float64)[:, None]  # a task's vector is its number
    batches = (
        list(TaskBatches(data, x, ROUTES[:3]).batches(cells, rng if shuffled else None)) if len(data.cells) else []
    )
    seen = [int(t) for b in batches for t in b.x[:, 0]]
    assert sorted(seen) == np.flatnonzero(~np.isnan(grid).all(axis=1)).tolist()
    for b in batches:
        np.testing.assert_allclose(np.where(b.weight > 0, b.y, np.nan), grid[b.x[:, 0].astype(int)], atol=1e-7)
        assert b.weight.sum() < cells + 3
