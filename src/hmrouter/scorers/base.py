"""The scorer contract.

A scorer learns from a training set and gives every (task, route) a score: the logit of the probability of success.
It must score routes that were never run. Constructor arguments are the configuration, learned attributes end in
`_`, `fit` returns self. `hmrouter.checks` holds the laws that every scorer obeys.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from hmrouter.errors import EmbedderMismatch, NotFitted
from hmrouter.evidence.dataset import Dataset
from hmrouter.logits import logit_of_mean as logit_of_mean
from hmrouter.logits import sigmoid as sigmoid
from hmrouter.plugins import Registry
from hmrouter.state import Floats, State
from hmrouter.types import EarlierRuns, Outcome, Route, Task

SCORERS = Registry(
    "scorer",
    "hmrouter.scorers",
    {
        "component_average": "hmrouter.scorers.component_average:ComponentAverage",
        "component_only": "hmrouter.scorers.hm:ComponentOnly",
        "fixed": "hmrouter.scorers.fixed:Fixed",
        "hm": "hmrouter.scorers.hm:HM",
        "knn": "hmrouter.scorers.knn:KNN",
        "safe": "hmrouter.scorers.safe:Safe",
        "safe_alone": "hmrouter.scorers.safe:SafeAlone",
        "random": "hmrouter.scorers.random_choice:Random",
    },
)


Z90 = 1.6448536269514722
"""Standard deviations on either side of the middle of a 90% interval."""


class Belief(Protocol):
    """Tells how good routes are by their results on other suites, as logits; `hmrouter.history` learns it."""

    @property
    def level(self) -> tuple[float, float]:
        """Mean and standard deviation of the level that all routes of a suite share."""

    def mean(self, routes: Sequence[Route]) -> Floats:
        """Expected logit of each route's success rate, (routes,)."""

    def cov(self, routes: Sequence[Route], others: Sequence[Route]) -> Floats:
        """Covariances of the logits, (routes, others), without the level that all routes share."""

    def state(self) -> State:
        """Give the values from which a saved scorer restores the belief."""


@dataclass(frozen=True, slots=True)
class Training:
    """The data that a scorer learns from: outcomes, task vectors and, if there are any, results of other suites."""

    data: Dataset
    x: Floats
    """Frozen task vectors, (tasks, dims), in the order of `data.tasks`."""
    harness_vectors: Mapping[str, Floats]
    """Frozen vectors of the harness descriptions, (dims,) each."""
    belief: Belief | None = None
    """Results of other suites, for scorers that use them (`listens`); None if nothing is known or wanted."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A scorer's predictions for tasks on routes; every array is (tasks, routes)."""

    score: Floats
    """Logits of success, or the scale that the scorer ranks by: more is better."""
    success: Floats
    """Probabilities of success."""
    merit: Floats
    """The numbers that choices are ranked by: success, unless a scorer is careful where unsure."""
    interval: tuple[Floats, Floats] | None = None
    """90% interval (low, high) of the success rate on tasks like these; None if unknown."""
    joint: Callable[[int, Sequence[int]], Floats] | None = None
    """(task, places of routes) -> covariance of their success rates on tasks like that one; None if unknown."""
    contrasts: Callable[[Sequence[int]], Floats] | None = None
    """Places of routes -> a covariance that gives differences between them the variances of `joint`, whatever the task
    (but for those in `earlier`); None where that depends on the task, or is unknown."""
    earlier: Mapping[int, tuple[EarlierRuns, ...]] = field(default_factory=dict)
    """Task -> the earlier runs on it, or on its like, that its prediction rests on. What is predicted for such a task,
    intervals and covariances included, is its own success rate, not that of tasks like it."""

    @classmethod
    def of_score(cls, score: Floats) -> Self:
        """Make the prediction of a scorer whose probabilities and ranking follow from its logits."""
        success = sigmoid(score)
        return cls(score, success, success)


class Scorer(ABC):
    """Predicts success of every (task, route).

    A scorer of one's own needs `fit`, `score`, `state` and `from_state`; the rest has defaults.
    """

    name: ClassVar[str]
    """The name on the command line and in results."""
    listens: ClassVar[bool] = False
    """Whether the scorer uses `Training.belief`, the results of other suites."""
    progress: Callable[[int, int], None] | None = None
    """Called with (done, total) steps during a long fit."""

    @abstractmethod
    def fit(self, training: Training) -> Self:
        """Learn from the outcomes of `training.data`, and from no others."""

    @abstractmethod
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Score task vectors x (tasks, dims): logits (tasks, routes); a route need not have been run."""

    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        """Predict everything that a decision needs, for task vectors x (tasks, dims) on these routes.

        Asking changes nothing: several threads may ask the same scorer. A scorer whose probabilities, ranking or
        uncertainty do not follow from its logits overrides this.
        """
        return Prediction.of_score(self.score(x, routes))

    def success(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Predict the probabilities of success, (tasks, routes), as `predict` does."""
        return self.predict(x, routes).success

    def predict_tasks(self, x: Floats, routes: Sequence[Route], tasks: Sequence[Task]) -> Prediction:
        """Predict for these very tasks, with vectors x; scorers that remember what happened on a task override it."""
        return self.predict(x, routes)

    def mean_interval(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats] | None:
        """Give a 90% interval of each route's mean score over these tasks, sampling noise included; None if unknown."""
        return None

    def reliability(self) -> dict[str, Any]:
        """Report how well the probabilities held on outcomes left out of the fit; empty if not measured."""
        return {}

    def observe(self, outcome: Outcome, x: Floats) -> None:  # noqa: B027 - nothing to update is a valid answer
        """Learn from one more outcome of a task with vector x (dims,), without a refit."""

    def after(self, outcome: Outcome, x: Floats) -> Self:
        """Return a scorer that has also observed the outcome; this one answers as before.

        The two may share data that only learning reads: of several made from one scorer, only the last may learn on.
        """
        new = deepcopy(self)
        new.observe(outcome, x)
        return new

    @property
    def refit_due(self) -> bool:
        """Whether enough was observed since the fit for a refit to pay."""
        return False

    def refitted(self) -> Self:
        """Return a scorer fitted again to everything that was observed; this one answers as before."""
        return self

    def describe(self, harness: str, vector: Floats) -> None:  # noqa: B027 - most scorers ignore descriptions
        """Learn the vector that describes a harness which was not in the training set."""

    def told(self, descriptions: Mapping[str, Floats]) -> Self:
        """Return a scorer that also knows these harnesses by their description vectors; this one answers as before."""
        new = deepcopy(self)
        for harness, vector in descriptions.items():
            new.describe(harness, vector)
        return new

    @abstractmethod
    def state(self) -> State:
        """Give settings and learned values, from which `from_state` makes a scorer with exactly the same scores."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """Restore the scorer that gave this state."""

    def report_progress(self, done: int, total: int) -> None:
        """Call `progress`, if it is set, with the steps done so far."""
        if self.progress is not None:
            self.progress(done, total)

    def _require_fitted(self, attribute: str) -> Any:
        if not hasattr(self, attribute):
            raise NotFitted(f"the scorer {self.name!r} is not fitted; call fit first")
        return getattr(self, attribute)


def require_dims(x: Floats, dims: int) -> None:
    """Refuse task vectors of another length than those a scorer was fitted on."""
    if x.shape[1] != dims:
        raise EmbedderMismatch(
            f"task vectors have {x.shape[1]} dims, but this scorer was fitted on {dims}; "
            "use the embedder it was trained with, or train again"
        )
