"""Component average: (mean success of the model + mean success of the harness) / 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hmrouter.evidence.means import RouteMeans
from hmrouter.scorers.base import logit_of_mean
from hmrouter.scorers.by_means import ByMeans
from hmrouter.state import Floats
from hmrouter.types import Route


class ComponentAverage(ByMeans):
    """Scores any pair by its components; a component that was never run counts as the overall mean."""

    name: ClassVar[str] = "component_average"

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Score every task alike: the text is not used."""
        means: RouteMeans = self._require_fitted("means_")
        overall = means.overall(0.5)
        model, harness = means.by(lambda r: r.model), means.by(lambda r: r.harness)
        row = [(model.get(r.model, overall) + harness.get(r.harness, overall)) / 2 for r in routes]
        return np.tile(logit_of_mean(np.array(row, dtype=np.float64)), (len(x), 1))
