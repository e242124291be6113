"""`plan`: ordered attempts with a verifier."""

from hmrouter.bench.experiments.plan.experiment import Plans

__all__ = ["Plans"]
