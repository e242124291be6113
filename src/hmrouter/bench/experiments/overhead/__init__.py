"""`overhead`: how long routing takes."""

from hmrouter.bench.experiments.overhead.experiment import Overhead

__all__ = ["Overhead"]
