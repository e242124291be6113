"""Safe, the default scorer: the pooled model, its prior, its calibration, and the per-task term."""

from hmrouter.scorers.safe.scorer import Safe, SafeAlone

__all__ = ["Safe", "SafeAlone"]
