"""The laws, one function each. A law takes a factory of unfitted scorers and raises `CheckFailed` if broken."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple

import numpy as np

from hmrouter.checks.world import (
    DIMS,
    POOL,
    ROUTES,
    UNSEEN,
    CheckFailed,
    Make,
    fit_and_score,
    new_x,
    outcomes,
    parts_of,
    require,
    require_close,
    require_equal,
    score_of,
    through_a_file,
    training_of,
    training_on,
    variances_of_differences,
    vector_of,
)
from hmrouter.errors import NotFitted
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Z90
from hmrouter.types import Outcome, Status, Task


class Law(NamedTuple):
    """A property that every scorer must have."""

    name: str
    check: Callable[[Make], None]
    """Checks the scorers that a factory makes; raises `CheckFailed`."""


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
    require_equal(fit_and_score(make, training_on()), fit_and_score(make, training_on()), "after a second fit")


@_law
def _permuting_routes_permutes_columns(make: Make) -> None:
    """A route's score does not depend on its place in the pool."""
    scorer, order = make().fit(training_on()), np.random.default_rng(1).permutation(len(POOL))
    require_close(
        score_of(scorer, POOL)[:, order], score_of(scorer, [POOL[i] for i in order]), "when the routes are permuted"
    )


@_law
def _one_route_equals_its_column(make: Make) -> None:
    """A route's score does not depend on which others are asked for."""
    scorer = make().fit(training_on())
    alone = np.concatenate([score_of(scorer, [route]) for route in POOL], axis=1)
    require_close(score_of(scorer, POOL), alone, "when a route is scored without the others")


@_law
def _batch_equals_single(make: Make) -> None:
    """A task's scores do not depend on which other tasks are in the batch."""
    scorer, x = make().fit(training_on()), new_x()
    single = np.concatenate([score_of(scorer, POOL, x[i : i + 1]) for i in range(len(x))])
    require_close(score_of(scorer, POOL, x), single, "when a task is scored without the others")


@_law
def _order_of_outcomes_does_not_matter(make: Make) -> None:
    """The same outcomes in another order give the same scores to the last bit."""
    made = outcomes()
    there, back = training_on(made), training_on(made[::-1])
    require_equal(fit_and_score(make, there), fit_and_score(make, back), "when the outcomes come in reverse order")


# -- the parts of a prediction agree --------------------------------------------------------------------------------


@_law
def _every_part_follows_its_route(make: Make) -> None:
    """In a permuted pool every part of the prediction is permuted: ranking, intervals, covariances."""
    scorer, order = make().fit(training_on()), np.random.default_rng(1).permutation(len(POOL)).tolist()
    there, back = parts_of(scorer, POOL), parts_of(scorer, [POOL[i] for i in order])
    for name, array in there.items():
        permuted = array[:, order][:, :, order] if array.ndim == 3 else array[:, order]
        require_close(permuted, back[name], f"in {name} when the routes are permuted")


@_law
def _every_part_follows_its_task(make: Make) -> None:
    """Every part of a task's prediction is the same in a batch and alone."""
    scorer, x = make().fit(training_on()), new_x()
    whole, single = parts_of(scorer, POOL, x), [parts_of(scorer, POOL, x[i : i + 1]) for i in range(len(x))]
    for name, array in whole.items():
        alone = np.concatenate([parts[name] for parts in single])
        require_close(array, alone, f"in {name} when a task is asked about without the others")


@_law
def _success_lies_in_its_interval(make: Make) -> None:
    """Success lies in its interval, the interval in 0 to 1; `score` and `success` agree with `predict`."""
    for made in (outcomes(), outcomes(lambda i, route, score: 1.0)):
        scorer = make().fit(training_on(made))
        parts = parts_of(scorer, POOL)
        require_close(parts["score"], score_of(scorer, POOL), "between score and predict")
        require_close(parts["success"], np.array(scorer.success(new_x(), POOL)), "between success and predict")
        if "low" in parts:
            inside = (parts["low"] >= 0.0) & (parts["high"] <= 1.0)
            inside &= (parts["low"] <= parts["success"] + 1e-9) & (parts["success"] <= parts["high"] + 1e-9)
            require(bool(inside.all()), "an interval does not hold the success that it is of, or leaves 0 to 1")


@_law
def _intervals_are_as_wide_as_the_covariance_says(make: Make) -> None:
    """The diagonal of `joint` is the variance that the interval shows, wherever that ends inside 0 to 1."""
    parts = parts_of(make().fit(training_on()), POOL)
    if "joint" not in parts:
        return
    joint = parts["joint"]
    require_close(joint, joint.transpose(0, 2, 1), "between the two halves of joint")
    least = float(np.linalg.eigvalsh(joint).min())
    require(least > -1e-9, f"joint is no covariance: its smallest eigenvalue is {least:.3g}")
    variance = np.diagonal(joint, axis1=1, axis2=2)
    if "low" in parts:
        shown = (parts["low"] > 0.0) & (parts["high"] < 1.0)
        half = (parts["high"] - parts["low"]) / 2.0
        require_close(half[shown], (Z90 * np.sqrt(variance))[shown], "between the interval and the diagonal of joint")
    if "contrasts" in parts:
        wanted = variances_of_differences(parts["contrasts"][0])
        for cov in joint:
            require_close(
                variances_of_differences(cov), wanted, "between the differences of joint and those of contrasts"
            )


# -- what a scorer may learn from -----------------------------------------------------------------------------------


@_law
def _withheld_outcomes_change_nothing(make: Make) -> None:
    """Scores do not depend on withheld outcomes, nor on what the same object was fitted on before."""
    altered = outcomes(lambda i, route, score: 1.0 - score if route.model == "m-1" else score)
    fresh = make().fit(training_of(Dataset(outcomes()).withhold(model="m-1")))
    used = make().fit(training_on(altered)).fit(training_of(Dataset(altered).withhold(model="m-1")))
    require_equal(score_of(fresh, POOL), score_of(used, POOL), "when only withheld outcomes differ")


@_law
def _infra_errors_change_nothing(make: Make) -> None:
    """An execution whose machinery failed, or whose end is not known, is not a failure of its route."""
    task = Task("t00", text="t00")
    broken = [Outcome(task, ROUTES[0], None, status=s) for s in (Status.INFRA_ERROR, Status.UNKNOWN) for _ in range(9)]
    before = fit_and_score(make, training_on())
    require_equal(
        before,
        fit_and_score(make, training_on([*outcomes(), *broken])),
        "after infra errors in the training set",
    )
    scorer = make().fit(training_on())
    for outcome in broken:
        scorer.observe(outcome, vector_of(task.text))
    require_equal(before, score_of(scorer, POOL), "after infra errors were observed")


@_law
def _trials_apart_equal_their_mean(make: Make) -> None:
    """Two contradicting trials of a cell count like one outcome of two trials with their mean."""
    apart = [Outcome(o.task, o.route, score) for o in outcomes() for score in (0.0, 1.0)]
    mean = [Outcome(o.task, o.route, 0.5, n_trials=2) for o in outcomes()]
    require_equal(
        fit_and_score(make, training_on(apart)), fit_and_score(make, training_on(mean)), "when trials are averaged"
    )


@_law
def _inputs_are_not_modified(make: Make) -> None:
    """A scorer does not change the task vectors, data, descriptions and routes that it is given."""
    training, x, new, routes = training_on(), new_x(), vector_of("new"), list(POOL)
    given = {f"data.cells.{n}": getattr(training.data.cells, n) for n in ("task", "route", "score", "trials", "cost")}
    given |= {f"harness_vectors[{h!r}]": v for h, v in training.harness_vectors.items()}
    given |= {"x": training.x, "the x given to score": x, "the x given to observe": new}
    before, described = {name: a.copy() for name, a in given.items()}, list(training.harness_vectors)
    scorer = make().fit(training)
    scorer.describe("new-harness", new)
    scorer.score(x, routes)
    scorer.success(x, routes)
    scorer.observe(Outcome(Task("new", text="new"), ROUTES[0], 1.0), new)
    for name, array in given.items():
        require(np.array_equal(before[name], array, equal_nan=True), f"the scorer modified {name}")
    require(described == list(training.harness_vectors), "the scorer modified harness_vectors")
    require(routes == POOL, "the scorer modified the routes given to score")


# -- answers for everything -----------------------------------------------------------------------------------------


@_law
def _unseen_routes_score_finite(make: Make) -> None:
    """Scores are finite for a new pair, an unknown model, an unknown harness, and one known by its description."""
    scorer = make().fit(training_on())
    score_of(scorer, UNSEEN)
    scorer.describe("new-harness", vector_of("new-harness"))
    score_of(scorer, UNSEEN)


@_law
def _success_is_a_probability(make: Make) -> None:
    """Success lies between 0 and 1, one number for each task and route."""
    x = new_x()
    for made in (outcomes(), outcomes(lambda i, route, score: 1.0), outcomes(lambda i, route, score: 0.0)):
        success = make().fit(training_on(made)).success(x, POOL)
        require(success.shape == (len(x), len(POOL)), f"success has the shape {success.shape}, not (tasks, routes)")
        inside = (success >= 0.0) & (success <= 1.0)  # also refuses NaN
        require(bool(inside.all()), f"success reaches from {success.min()} to {success.max()}")


@_law
def _missing_text_works(make: Make) -> None:
    """A task without a text, a vector of zeros, is scored; a training set of such tasks is learned from."""
    score_of(make().fit(training_on()), POOL, np.zeros((1, DIMS), dtype=np.float32))
    blind = [Outcome(Task(o.task.id), o.route, o.score) for o in outcomes()]
    fit_and_score(make, training_on(blind))


@_law
def _empty_batch_works(make: Make) -> None:
    """No tasks give no rows."""
    score_of(make().fit(training_on()), POOL, np.zeros((0, DIMS), dtype=np.float32))


@_law
def _soft_scores_are_accepted(make: Make) -> None:
    """Outcomes with scores between 0 and 1 are learned from."""
    fit_and_score(make, training_on(outcomes(lambda i, route, score: 0.25 + 0.04 * i * score)))


@_law
def _single_outcome_is_enough(make: Make) -> None:
    """A scorer learns from one outcome of one task on one route."""
    fit_and_score(make, training_on(outcomes()[:1]))


@_law
def _no_outcome_is_survived(make: Make) -> None:
    """A scorer can be fitted where every execution ended in an infra error."""
    fit_and_score(make, training_on([Outcome(Task("t00"), ROUTES[0], None, status=Status.INFRA_ERROR)]))


@_law
def _all_successes_work(make: Make) -> None:
    """A scorer learns where nothing ever failed."""
    fit_and_score(make, training_on(outcomes(lambda i, route, score: 1.0)))


@_law
def _all_failures_work(make: Make) -> None:
    """A scorer learns where nothing ever succeeded."""
    fit_and_score(make, training_on(outcomes(lambda i, route, score: 0.0)))


# -- the life of a scorer -------------------------------------------------------------------------------------------


@_law
def _fit_returns_self(make: Make) -> None:
    """`fit` returns the scorer itself, which has a name to be chosen by."""
    scorer = make()
    require(scorer.fit(training_on()) is scorer, "fit did not return self")
    name = getattr(scorer, "name", None)
    require(isinstance(name, str) and bool(name), f"the scorer's name is {name!r}, it should be a short text")


@_law
def _unfitted_refuses(make: Make) -> None:
    """A scorer that is asked before `fit` raises `NotFitted`."""
    uses: dict[str, Callable[[], object]] = {
        "score": lambda: make().score(new_x(), POOL),
        "success": lambda: make().success(new_x(), POOL),
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
    """`observe` takes outcomes of known and new tasks and routes, soft ones and means of trials, repeatedly."""
    scorer = make().fit(training_on())
    for _ in range(2):
        for task in (Task("t00", text="t00"), Task("new", text="new"), Task("blind")):
            for route in POOL:
                scorer.observe(Outcome(task, route, 0.75, n_trials=3, cost=0.1), vector_of(task.text))
            score_of(scorer, POOL)


@_law
def _asking_changes_nothing(make: Make) -> None:
    """Asking about any pool changes neither later answers nor the saved state."""
    scorer, untouched = make().fit(training_on()), make().fit(training_on())
    for routes in (UNSEEN, POOL, ROUTES[:1]):
        parts_of(scorer, routes)
    kept, fresh = through_a_file(scorer.state()), through_a_file(untouched.state())
    require(kept.meta == fresh.meta and kept.arrays.keys() == fresh.arrays.keys(), "asking changed the state")
    for name, array in fresh.arrays.items():
        require(np.array_equal(kept.arrays[name], array, equal_nan=True), f"asking changed the state's {name!r}")
    require_equal(score_of(scorer, POOL), score_of(untouched, POOL), "after other questions were asked")


@_law
def _after_leaves_the_scorer_as_it_was(make: Make) -> None:
    """`after` gives another scorer, which has observed the outcome; the first goes on answering as before."""
    scorer, observing = make().fit(training_on()), make().fit(training_on())
    first = scorer
    before = {name: array.copy() for name, array in parts_of(first, POOL).items()}
    for i, route in enumerate(POOL):
        outcome = Outcome(Task(f"n{i % 3}", text=f"n{i % 3}"), route, float(i % 2))
        scorer = scorer.after(outcome, vector_of(outcome.task.text))
        observing.observe(outcome, vector_of(outcome.task.text))
        for name, array in parts_of(first, POOL).items():
            require_equal(before[name], array, f"in {name} of the scorer that `after` was asked of")
    require_equal(score_of(scorer, POOL), score_of(observing, POOL), "between after and observe")
    require(isinstance(scorer.refit_due, bool), f"refit_due is {scorer.refit_due!r}, not True or False")
    now = score_of(scorer, POOL)
    score_of(scorer.refitted(), POOL)
    require_equal(now, score_of(scorer, POOL), "in the scorer that `refitted` was asked of")


@_law
def _save_and_load_are_exact(make: Make) -> None:
    """A scorer loaded from safetensors and JSON has the same scores, settings and reactions to new outcomes."""
    scorer = make().fit(training_on())
    scorer.describe("new-harness", vector_of("new-harness"))
    news = [Outcome(Task(f"n{i}", text=f"n{i}"), route, i / 10, n_trials=i) for i, route in enumerate(POOL)]
    for outcome in news[::2]:
        scorer.observe(outcome, vector_of(outcome.task.text))
    loaded = type(scorer).from_state(through_a_file(scorer.state()))
    require_equal(score_of(scorer, POOL), score_of(loaded, POOL), "after save and load")
    for outcome in news:
        scorer.observe(outcome, vector_of(outcome.task.text))
        loaded.observe(outcome, vector_of(outcome.task.text))
    require_equal(score_of(scorer, POOL), score_of(loaded, POOL), "when the loaded scorer observes the same outcomes")
    refitted = score_of(loaded.fit(training_on()), POOL)
    require_equal(fit_and_score(make, training_on()), refitted, "when the loaded scorer is refitted")


LAWS: tuple[Law, ...] = tuple(_laws)
"""All laws, for tests that are parametrised by them."""
