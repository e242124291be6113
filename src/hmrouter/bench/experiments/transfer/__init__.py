"""`transfer`: model choices moved to another harness."""

from hmrouter.bench.experiments.transfer.experiment import Transfer

__all__ = ["Transfer"]
