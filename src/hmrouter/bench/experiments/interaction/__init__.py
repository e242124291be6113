"""`interaction`: does the interaction term predict interactions?."""

from hmrouter.bench.experiments.interaction.experiment import Interaction

__all__ = ["Interaction"]
