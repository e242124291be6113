"""HM, the scorer of the paper: summaries of components, the network, its optimiser, and the fitted scorer."""

from hmrouter.scorers.hm.scorer import HM, ComponentOnly

__all__ = ["HM", "ComponentOnly"]
