"""The tiny data set that the laws use, the same every time, and the helpers that look at a scorer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route, Task

Make = Callable[[], Scorer]
"""Makes an unfitted scorer."""


class CheckFailed(AssertionError):
    """A scorer broke a law; the message says which one and how."""


DIMS = 6
ROUTES = [Route(model, harness) for model in ("m-0", "m-1", "m-2") for harness in ("h-0", "h-1")]
UNSEEN = [Route("m-2", "h-1"), Route("new-model", "h-0"), Route("m-0", "new-harness"), Route("new", "new")]
"""Routes that were never run; the first is a new pair of known components."""
POOL = [*ROUTES[:-1], *UNSEEN]


def outcomes(score: Callable[[int, Route, float], float] = lambda i, route, score: score) -> list[Outcome]:
    """Make outcomes of twelve tasks, the last without a text, on two thirds of the known routes each."""
    rng, out = np.random.default_rng(0), []
    for i in range(12):
        task = Task(f"t{i:02}", text=f"t{i:02}" if i < 11 else "")
        for j, route in enumerate(ROUTES[:-1]):
            drawn = float(rng.random() < 0.3 + 0.1 * j)
            if (i + j) % 3:
                out.append(Outcome(task, route, score(i, route, drawn)))
    return out


def vector_of(text: str) -> Floats:
    """Draw a unit vector that is seeded by the text; zeros for none."""
    drawn = np.random.default_rng(list(text.encode())).standard_normal(DIMS) if text else np.zeros(DIMS)
    return np.asarray(drawn / max(1e-9, float(np.linalg.norm(drawn))), dtype=np.float32)


def new_x() -> Floats:
    """Make the vectors of five tasks: one of them was trained on, one has no text."""
    return np.stack([vector_of(text) for text in ("a", "b", "t00", "", "c")])


def training_on(some: Iterable[Outcome] | None = None) -> Training:
    """Make a training set of some outcomes, by default all of this file's."""
    return training_of(Dataset(outcomes() if some is None else some))


def training_of(data: Dataset) -> Training:
    """Make a training set of a data set, with the vectors of its tasks and harnesses."""
    return Training(data, np.stack([vector_of(t.text) for t in data.tasks]), {h: vector_of(h) for h in data.harnesses})


def through_a_file(state: State) -> State:
    """Write a state as safetensors and JSON, and read it back."""
    from safetensors.numpy import load, save

    for name, array in state.arrays.items():
        require(array.flags.c_contiguous, f"the array {name!r} of the state is not contiguous")
    arrays: dict[str, Any] = load(save(dict(state.arrays)))
    return State(arrays, json.loads(json.dumps(dict(state.meta), allow_nan=False)))


def score_of(scorer: Scorer, routes: Sequence[Route], x: Floats | None = None) -> Floats:
    """Score tasks on routes; refuse a wrong shape, a NaN or an infinity."""
    x = new_x() if x is None else x
    scores = np.array(scorer.score(x, routes))  # a copy: a scorer may reuse its buffer
    require(scores.shape == (len(x), len(routes)), f"scores have the shape {scores.shape}, not (tasks, routes)")
    bad = sorted({str(routes[j]) for j in np.nonzero(~np.isfinite(scores))[1].tolist()})
    require(not bad, f"scores are not finite for {', '.join(bad)}")
    return scores


def parts_of(scorer: Scorer, routes: Sequence[Route], x: Floats | None = None) -> dict[str, Floats]:
    """Collect the parts of a prediction by name; those that a scorer does not give are left out."""
    x = new_x() if x is None else x
    said = scorer.predict(x, routes)
    out = {name: np.array(getattr(said, name)) for name in ("score", "success", "merit")}
    if said.interval is not None:
        out["low"], out["high"] = (np.array(bound) for bound in said.interval)
    for name, array in out.items():
        require(array.shape == (len(x), len(routes)), f"{name} has the shape {array.shape}, not (tasks, routes)")
        require(bool(np.isfinite(array).all()), f"{name} is not finite everywhere")
    places = range(len(routes))
    if said.joint is not None:
        out["joint"] = np.array([said.joint(i, places) for i in range(len(x))])
    if said.contrasts is not None:
        out["contrasts"] = np.array([said.contrasts(places) for _ in range(len(x))])
    return out


def fit_and_score(make: Make, training: Training) -> Floats:
    """Fit a new scorer to this training set, and score the pool."""
    return score_of(make().fit(training), POOL)


def require_equal(a: Floats, b: Floats, when: str) -> None:
    """Refuse numbers that differ at all."""
    require(np.array_equal(a, b), f"scores differ by up to {np.abs(a - b).max():.3g} {when}; they should be identical")


def require_close(a: Floats, b: Floats, when: str) -> None:
    """Refuse numbers that differ by more than rounding."""
    difference = np.abs(a - b).max(initial=0.0)
    require(bool(difference <= 1e-6), f"scores differ by up to {difference:.3g} {when}; 1e-6 is allowed")


def require(true: bool, message: str) -> None:
    """Raise `CheckFailed` with the message unless the condition is true."""
    if not true:
        raise CheckFailed(message)


def variances_of_differences(cov: Floats) -> Floats:
    """Compute the variances of all differences of jointly distributed values."""
    variance = np.diag(cov)
    return np.asarray(variance[:, None] + variance[None, :] - 2.0 * cov)
