"""The laws that every scorer obeys, as product code: a plug-in is held to what the built-in scorers are held to.

    from hmrouter.checks import LAWS, check_scorer

    check_scorer(MyScorer)                                    # raises CheckFailed at the first broken law

    @pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
    def test_my_scorer(law):
        law.check(MyScorer)                                   # or law by law

The data sets are tiny and the same every time. A slow scorer is checked with a factory that makes it quick, such as
`lambda: HM(epochs=5)`; what is checked does not depend on how well it has learned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from hmrouter.errors import NotFitted
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route, Status, Task

Make = Callable[[], Scorer]


class CheckFailed(AssertionError):
    """A scorer broke a law; the message says which one and how."""


class Law(NamedTuple):
    """One thing that is true of every scorer."""

    name: str
    check: Callable[[Make], None]
    """Takes what makes an unfitted scorer; raises `CheckFailed`."""


_laws: list[Law] = []


def check_scorer(make: Make) -> None:
    """Hold the scorers that `make` makes to all laws; the first broken one raises `CheckFailed`.

    >>> from hmrouter.scorers.fixed import Fixed
    >>> check_scorer(Fixed)
    """
    for law in LAWS:
        law.check(make)


def _law(body: Callable[[Make], None]) -> Callable[[Make], None]:
    name = body.__name__.removeprefix("_")

    @wraps(body)
    def check(make: Make) -> None:
        try:
            body(make)
        except CheckFailed as e:
            raise CheckFailed(f"the law {name!r} is broken: {e}") from e.__cause__
        except Exception as e:  # whatever a scorer raises where it should work is the finding
            raise CheckFailed(f"the law {name!r} is broken: the scorer raised {type(e).__name__}: {e}") from e

    _laws.append(Law(name, check))
    return check


# -- the same every time, and the order of things does not matter ---------------------------------------------------


@_law
def _seeded_refit_is_identical(make: Make) -> None:
    """Two scorers of one making, fitted on the same outcomes, score the same to the last bit."""
    _equal(_fit_and_score(make, _training()), _fit_and_score(make, _training()), "after a second fit")


@_law
def _permuting_routes_permutes_columns(make: Make) -> None:
    """A route's score does not depend on its place in the pool."""
    scorer, order = make().fit(_training()), np.random.default_rng(1).permutation(len(_POOL))
    _close(_score(scorer, _POOL)[:, order], _score(scorer, [_POOL[i] for i in order]), "when the routes are permuted")


@_law
def _one_route_equals_its_column(make: Make) -> None:
    """A route's score does not depend on which others are asked for."""
    scorer = make().fit(_training())
    alone = np.concatenate([_score(scorer, [route]) for route in _POOL], axis=1)
    _close(_score(scorer, _POOL), alone, "when a route is scored without the others")


@_law
def _batch_equals_single(make: Make) -> None:
    """A task's scores do not depend on which other tasks are in the batch."""
    scorer, x = make().fit(_training()), _new_x()
    single = np.concatenate([_score(scorer, _POOL, x[i : i + 1]) for i in range(len(x))])
    _close(_score(scorer, _POOL, x), single, "when a task is scored without the others")


@_law
def _order_of_outcomes_does_not_matter(make: Make) -> None:
    """The same outcomes in another order give the same scores to the last bit."""
    outcomes = _outcomes()
    there, back = _training(outcomes), _training(outcomes[::-1])
    _equal(_fit_and_score(make, there), _fit_and_score(make, back), "when the outcomes come in reverse order")


# -- what a scorer may learn from -----------------------------------------------------------------------------------


@_law
def _withheld_outcomes_change_nothing(make: Make) -> None:
    """Whatever the scores of withheld outcomes are, and whatever the same object was fitted on before."""
    altered = _outcomes(lambda i, route, score: 1.0 - score if route.model == "m-1" else score)
    fresh = make().fit(_training_of(Dataset(_outcomes()).withhold(model="m-1")))
    used = make().fit(_training(altered)).fit(_training_of(Dataset(altered).withhold(model="m-1")))
    _equal(_score(fresh, _POOL), _score(used, _POOL), "when only withheld outcomes differ")


@_law
def _infra_errors_change_nothing(make: Make) -> None:
    """An execution whose machinery failed, or whose end is not known, is not a failure of its route."""
    task = Task("t00", text="t00")
    broken = [Outcome(task, _ROUTES[0], None, status=s) for s in (Status.INFRA_ERROR, Status.UNKNOWN) for _ in range(9)]
    before = _fit_and_score(make, _training())
    _equal(before, _fit_and_score(make, _training([*_outcomes(), *broken])), "after infra errors in the training set")
    scorer = make().fit(_training())
    for outcome in broken:
        scorer.observe(outcome, _vector(task.text))
    _equal(before, _score(scorer, _POOL), "after infra errors were observed")


@_law
def _trials_apart_equal_their_mean(make: Make) -> None:
    """Contradicting trials of a cell are what their mean over two trials is."""
    apart = [Outcome(o.task, o.route, score) for o in _outcomes() for score in (0.0, 1.0)]
    mean = [Outcome(o.task, o.route, 0.5, n_trials=2) for o in _outcomes()]
    _equal(_fit_and_score(make, _training(apart)), _fit_and_score(make, _training(mean)), "when trials are averaged")


@_law
def _inputs_are_not_modified(make: Make) -> None:
    """Task vectors, data, descriptions and routes belong to the caller."""
    training, x, new, routes = _training(), _new_x(), _vector("new"), list(_POOL)
    given = {f"data.cells.{n}": getattr(training.data.cells, n) for n in ("task", "route", "score", "trials", "cost")}
    given |= {f"harness_vectors[{h!r}]": v for h, v in training.harness_vectors.items()}
    given |= {"x": training.x, "the x given to score": x, "the x given to observe": new}
    before, described = {name: a.copy() for name, a in given.items()}, list(training.harness_vectors)
    scorer = make().fit(training)
    scorer.describe("new-harness", new)
    scorer.score(x, routes)
    scorer.success(x, routes)
    scorer.observe(Outcome(Task("new", text="new"), _ROUTES[0], 1.0), new)
    for name, array in given.items():
        _require(np.array_equal(before[name], array, equal_nan=True), f"the scorer modified {name}")
    _require(described == list(training.harness_vectors), "the scorer modified harness_vectors")
    _require(routes == _POOL, "the scorer modified the routes given to score")


# -- answers for everything -----------------------------------------------------------------------------------------


@_law
def _unseen_routes_score_finite(make: Make) -> None:
    """A new pair of known components, an unknown model, an unknown harness, and one known by its description."""
    scorer = make().fit(_training())
    _score(scorer, _UNSEEN)
    scorer.describe("new-harness", _vector("new-harness"))
    _score(scorer, _UNSEEN)


@_law
def _success_is_a_probability(make: Make) -> None:
    """Between 0 and 1, one for each task and route."""
    x = _new_x()
    for outcomes in (_outcomes(), _outcomes(lambda i, route, score: 1.0), _outcomes(lambda i, route, score: 0.0)):
        success = make().fit(_training(outcomes)).success(x, _POOL)
        _require(success.shape == (len(x), len(_POOL)), f"success has the shape {success.shape}, not (tasks, routes)")
        inside = (success >= 0.0) & (success <= 1.0)  # also refuses NaN
        _require(bool(inside.all()), f"success reaches from {success.min()} to {success.max()}")


@_law
def _missing_text_works(make: Make) -> None:
    """A task without a text has a vector of zeros; so may have all of them."""
    _score(make().fit(_training()), _POOL, np.zeros((1, _DIMS), dtype=np.float32))
    blind = [Outcome(Task(o.task.id), o.route, o.score) for o in _outcomes()]
    _fit_and_score(make, _training(blind))


@_law
def _empty_batch_works(make: Make) -> None:
    """No tasks give no rows."""
    _score(make().fit(_training()), _POOL, np.zeros((0, _DIMS), dtype=np.float32))


@_law
def _soft_scores_are_accepted(make: Make) -> None:
    """Scores between 0 and 1 are welcome."""
    _fit_and_score(make, _training(_outcomes(lambda i, route, score: 0.25 + 0.04 * i * score)))


@_law
def _single_outcome_is_enough(make: Make) -> None:
    """One task, one route, one outcome."""
    _fit_and_score(make, _training(_outcomes()[:1]))


@_law
def _no_outcome_is_survived(make: Make) -> None:
    """A training set in which every execution ended in an infra error."""
    _fit_and_score(make, _training([Outcome(Task("t00"), _ROUTES[0], None, status=Status.INFRA_ERROR)]))


@_law
def _all_successes_work(make: Make) -> None:
    """Nothing ever failed."""
    _fit_and_score(make, _training(_outcomes(lambda i, route, score: 1.0)))


@_law
def _all_failures_work(make: Make) -> None:
    """Nothing ever succeeded."""
    _fit_and_score(make, _training(_outcomes(lambda i, route, score: 0.0)))


# -- the life of a scorer -------------------------------------------------------------------------------------------


@_law
def _fit_returns_self(make: Make) -> None:
    """And the scorer has a name to be chosen by."""
    scorer = make()
    _require(scorer.fit(_training()) is scorer, "fit did not return self")
    name = getattr(scorer, "name", None)
    _require(isinstance(name, str) and bool(name), f"the scorer's name is {name!r}, it should be a short text")


@_law
def _unfitted_refuses(make: Make) -> None:
    """Asked before `fit`, a scorer says so."""
    uses: dict[str, Callable[[], object]] = {
        "score": lambda: make().score(_new_x(), _POOL),
        "success": lambda: make().success(_new_x(), _POOL),
        "state": lambda: make().state(),
    }
    for method, use in uses.items():
        try:
            use()
        except NotFitted:
            continue
        raise CheckFailed(f"{method} before fit did not raise NotFitted")


@_law
def _observe_takes_any_outcome(make: Make) -> None:
    """Of a known task and route, of a new task, of a new route, soft or counted as several; again and again."""
    scorer = make().fit(_training())
    for _ in range(2):
        for task in (Task("t00", text="t00"), Task("new", text="new"), Task("blind")):
            for route in _POOL:
                scorer.observe(Outcome(task, route, 0.75, n_trials=3, cost=0.1), _vector(task.text))
            _score(scorer, _POOL)


@_law
def _save_and_load_are_exact(make: Make) -> None:
    """Through real safetensors and JSON: the same scores, the same reaction to new outcomes, the same settings."""
    scorer = make().fit(_training())
    scorer.describe("new-harness", _vector("new-harness"))
    news = [Outcome(Task(f"n{i}", text=f"n{i}"), route, i / 10, n_trials=i) for i, route in enumerate(_POOL)]
    for outcome in news[::2]:
        scorer.observe(outcome, _vector(outcome.task.text))
    loaded = type(scorer).from_state(_through_a_file(scorer.state()))
    _equal(_score(scorer, _POOL), _score(loaded, _POOL), "after save and load")
    for outcome in news:
        scorer.observe(outcome, _vector(outcome.task.text))
        loaded.observe(outcome, _vector(outcome.task.text))
    _equal(_score(scorer, _POOL), _score(loaded, _POOL), "when the loaded scorer observes the same outcomes")
    refitted = _score(loaded.fit(_training()), _POOL)
    _equal(_fit_and_score(make, _training()), refitted, "when the loaded scorer is refitted")


LAWS: tuple[Law, ...] = tuple(_laws)
"""All laws, for tests that are parametrised by them."""


# -- the world that the laws play in --------------------------------------------------------------------------------

_DIMS = 6
_ROUTES = [Route(model, harness) for model in ("m-0", "m-1", "m-2") for harness in ("h-0", "h-1")]
_UNSEEN = [Route("m-2", "h-1"), Route("new-model", "h-0"), Route("m-0", "new-harness"), Route("new", "new")]
"""The first is a pair of known components, as no outcome below is of it."""
_POOL = [*_ROUTES[:-1], *_UNSEEN]


def _outcomes(score: Callable[[int, Route, float], float] = lambda i, route, score: score) -> list[Outcome]:
    """Twelve tasks, the last one without a text, on two of three known routes each."""
    rng, out = np.random.default_rng(0), []
    for i in range(12):
        task = Task(f"t{i:02}", text=f"t{i:02}" if i < 11 else "")
        for j, route in enumerate(_ROUTES[:-1]):
            drawn = float(rng.random() < 0.3 + 0.1 * j)
            if (i + j) % 3:
                out.append(Outcome(task, route, score(i, route, drawn)))
    return out


def _vector(text: str) -> Floats:
    """A unit vector drawn by the text, zeros for none."""
    drawn = np.random.default_rng(list(text.encode())).standard_normal(_DIMS) if text else np.zeros(_DIMS)
    return np.asarray(drawn / max(1e-9, float(np.linalg.norm(drawn))), dtype=np.float32)


def _new_x() -> Floats:
    return np.stack([_vector(text) for text in ("a", "b", "t00", "", "c")])


def _training(outcomes: Iterable[Outcome] | None = None) -> Training:
    return _training_of(Dataset(_outcomes() if outcomes is None else outcomes))


def _training_of(data: Dataset) -> Training:
    return Training(data, np.stack([_vector(t.text) for t in data.tasks]), {h: _vector(h) for h in data.harnesses})


def _through_a_file(state: State) -> State:
    from safetensors.numpy import load, save

    for name, array in state.arrays.items():
        _require(array.flags.c_contiguous, f"the array {name!r} of the state is not contiguous")
    arrays: dict[str, Any] = load(save(dict(state.arrays)))
    return State(arrays, json.loads(json.dumps(dict(state.meta), allow_nan=False)))


def _score(scorer: Scorer, routes: Sequence[Route], x: Floats | None = None) -> Floats:
    """Scores of the right shape without a NaN or an infinity."""
    x = _new_x() if x is None else x
    scores = np.array(scorer.score(x, routes))  # a copy: a scorer may reuse its buffer
    _require(scores.shape == (len(x), len(routes)), f"scores have the shape {scores.shape}, not (tasks, routes)")
    bad = sorted({str(routes[j]) for j in np.nonzero(~np.isfinite(scores))[1].tolist()})
    _require(not bad, f"scores are not finite for {', '.join(bad)}")
    return scores


def _fit_and_score(make: Make, training: Training) -> Floats:
    return _score(make().fit(training), _POOL)


def _equal(a: Floats, b: Floats, when: str) -> None:
    _require(np.array_equal(a, b), f"scores differ by up to {np.abs(a - b).max():.3g} {when}; they should be identical")


def _close(a: Floats, b: Floats, when: str) -> None:
    difference = np.abs(a - b).max()
    _require(bool(difference <= 1e-6), f"scores differ by up to {difference:.3g} {when}; 1e-6 is allowed")


def _require(true: bool, message: str) -> None:
    if not true:
        raise CheckFailed(message)
