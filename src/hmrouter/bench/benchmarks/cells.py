"""The cells of a data set as outcomes again, to join data sets or to observe cells one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from hmrouter.evidence.dataset import Dataset
from hmrouter.types import Outcome


def outcomes_of(data: Dataset, which: Iterable[int] | None = None) -> Iterator[Outcome]:
    """One outcome per cell, or per one of `which`: the mean of its trials.

    >>> from hmrouter.types import Route, Task
    >>> data = Dataset([Outcome(Task("t"), Route("gpt-5", "codex"), s) for s in (0.0, 1.0)])
    >>> [(o.score, o.n_trials) for o in outcomes_of(data)]
    [(0.5, 2)]
    """
    c = data.cells
    for i in range(len(c)) if which is None else which:
        yield Outcome(
            data.tasks[c.task[i]], data.routes[c.route[i]], float(c.score[i]), int(c.trials[i]),
            cost=_known(c.cost[i]), cost_is_route_mean=bool(c.cost_is_route_mean[i]), seconds=_known(c.seconds[i]),
        )  # fmt: skip


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
