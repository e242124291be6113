"""A benchmark directory in memory, known by the hash of its content."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hmrouter.errors import LogError
from hmrouter.evidence.dataset import Dataset
from hmrouter.logs.files import content_hash
from hmrouter.logs.formats.benchmark import read_benchmark


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Names a benchmark directory and the content that it had when it was looked at."""

    name: str
    path: str
    hash: str

    @classmethod
    def at(cls, path: str | Path) -> Benchmark:
        """Look at a benchmark directory: read it whole once, so that a broken one is found before the work begins."""
        path = Path(path).absolute()  # the name is what `.` stands for, and a worker may start elsewhere
        benchmark = cls(path.name, str(path), benchmark_hash(path))
        benchmark.data()
        return benchmark

    def data(self) -> Dataset:
        """The outcomes; read once per process."""
        return _read(self.path, self.hash)


def benchmark_hash(path: Path) -> str:
    """Hash of the files that count: the same as the run under which the directory is imported."""
    return content_hash(path / "outcomes.csv", path / "queries.jsonl")


@lru_cache(maxsize=32)
def _read(path: str, hash: str) -> Dataset:
    if (now := benchmark_hash(Path(path))) != hash:  # edited during the run, or another file on another machine
        raise LogError(f"{path} holds other data ({now}) than when the run began ({hash}); run again")
    return Dataset(read_benchmark(path))
