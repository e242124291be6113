"""An earlier version of this project, taken from the history of this repository."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hmrouter.errors import MissingExtra

ROOT = Path(__file__).parents[1]


@contextmanager
def source_of(revision: str) -> Iterator[Path]:
    """Unpack the sources of a revision into a folder, for as long as they are measured."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, capture_output=True)
        if archive.returncode:
            raise MissingExtra(f"the comparison with {revision}, a version in the history of this repository,", "dev")
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder) / "src"
