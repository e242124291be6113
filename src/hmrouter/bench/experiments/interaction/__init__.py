"""`interaction`: what the interaction term knows."""

from hmrouter.bench.experiments.interaction.experiment import Interaction

__all__ = ["Interaction"]
