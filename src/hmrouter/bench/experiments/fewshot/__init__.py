"""`fewshot`: a new route, model or harness after k tasks."""

from hmrouter.bench.experiments.fewshot.experiment import FewShot

__all__ = ["FewShot"]
