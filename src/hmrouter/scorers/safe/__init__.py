"""Safe, the default scorer: the pooled model, its prior, calibration, and what suits single tasks."""

from hmrouter.scorers.safe.scorer import Safe, SafeAlone

__all__ = ["Safe", "SafeAlone"]
