"""Expected dollars and seconds per (task, route), with intervals."""

from hmrouter.costs.cost import Cost, nearest, priced
from hmrouter.costs.expected import ExpectedCosts
from hmrouter.costs.plain import RouteCosts

__all__ = ["Cost", "ExpectedCosts", "RouteCosts", "nearest", "priced"]
