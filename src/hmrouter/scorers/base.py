"""The scorer contract.

A scorer learns from a training set and gives every (task, route) a score: the logit of the probability of success.
It must score routes that were never run. Constructor arguments are the configuration, learned attributes end in
`_`, `fit` returns self. `hmrouter.checks` holds the laws that every scorer obeys.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from hmrouter.errors import EmbedderMismatch, NotFitted
from hmrouter.evidence.dataset import Dataset
from hmrouter.logits import logit_of_mean as logit_of_mean
from hmrouter.logits import sigmoid as sigmoid
from hmrouter.plugins import Registry
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route

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
    """What other suites say of routes in this one, as logits; `hmrouter.history` learns it."""

    @property
    def level(self) -> tuple[float, float]:
        """Mean and standard deviation of what a suite's routes have in common."""

    def mean(self, routes: Sequence[Route]) -> Floats:
        """Expected logit of each route's success rate, (routes,)."""

    def cov(self, routes: Sequence[Route], others: Sequence[Route]) -> Floats:
        """Covariances of the logits, (routes, others), apart from what all routes have in common."""

    def state(self) -> State:
        """What is kept with a scorer that rests on it."""


@dataclass(frozen=True, slots=True)
class Training:
    """What a scorer is fitted on."""

    data: Dataset
    x: Floats
    """Frozen task vectors, (tasks, dims), in the order of `data.tasks`."""
    harness_vectors: Mapping[str, Floats]
    """Frozen vectors of the harness descriptions, (dims,) each."""
    belief: Belief | None = None
    """What other suites say about the routes, for scorers that listen to it; None if nothing is known or wanted."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A scorer's answer about tasks on routes; every array is (tasks, routes)."""

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
    """Places of routes -> a covariance that gives differences between them the variances of `joint`, whatever the task;
    None where that depends on the task, or is unknown."""

    @classmethod
    def of_score(cls, score: Floats) -> Self:
        """The answer of a scorer whose logits say it all."""
        success = sigmoid(score)
        return cls(score, success, success)


class Scorer(ABC):
    """Predicts success of every (task, route).

    A scorer of one's own needs `fit`, `score`, `state` and `from_state`; the rest has defaults.
    """

    name: ClassVar[str]
    """The name on the command line and in results."""
    listens: ClassVar[bool] = False
    """Whether other suites have a say: whether `Training.belief` is used."""
    progress: Callable[[int, int], None] | None = None
    """Called with (done, total) steps during a long fit."""

    @abstractmethod
    def fit(self, training: Training) -> Self:
        """Learn from the outcomes of `training.data`, nothing else."""

    @abstractmethod
    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Logits (tasks, routes) for task vectors x (tasks, dims); routes need not have been seen."""

    def predict(self, x: Floats, routes: Sequence[Route]) -> Prediction:
        """Everything that a decision needs to know of task vectors x (tasks, dims) on these routes, at once.

        Asking changes nothing: several threads may ask the same scorer. A scorer whose probabilities, ranking or
        uncertainty do not follow from its logits overrides this.
        """
        return Prediction.of_score(self.score(x, routes))

    def success(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Probabilities of success, (tasks, routes): a part of `predict`."""
        return self.predict(x, routes).success

    def mean_interval(self, x: Floats, routes: Sequence[Route]) -> tuple[Floats, Floats] | None:
        """90% interval of each route's mean score over these tasks, sampling noise included; None if unknown."""
        return None

    def reliability(self) -> dict[str, Any]:
        """How far the probabilities held on outcomes that were left out of the fit; empty if not measured."""
        return {}

    def observe(self, outcome: Outcome, x: Floats) -> None:  # noqa: B027 - nothing to update is a valid answer
        """Take in one more outcome of a task with vector x (dims,), without a refit."""

    def after(self, outcome: Outcome, x: Floats) -> Self:
        """A scorer that has observed the outcome too; this one goes on answering as before.

        The two may share what only learning looks at, so that of several that came from one, the last goes on.
        """
        new = deepcopy(self)
        new.observe(outcome, x)
        return new

    @property
    def refit_due(self) -> bool:
        """Whether so much was observed since the fit that learning its scales anew would pay."""
        return False

    def refitted(self) -> Self:
        """A scorer whose scales were learned anew from all that was observed; this one goes on as before."""
        return self

    def describe(self, harness: str, vector: Floats) -> None:  # noqa: B027 - most scorers ignore descriptions
        """Learn of a harness that was not in the training set, by the vector of its description."""

    def told(self, descriptions: Mapping[str, Floats]) -> Self:
        """A scorer that also knows these harnesses by the vectors of their descriptions; this one goes on as before."""
        new = deepcopy(self)
        for harness, vector in descriptions.items():
            new.describe(harness, vector)
        return new

    @abstractmethod
    def state(self) -> State:
        """Settings and learned values; `from_state` gives back a scorer that scores exactly the same."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """The scorer that `state` describes."""

    def report_progress(self, done: int, total: int) -> None:
        """Tell whoever watches how far a fit is."""
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
