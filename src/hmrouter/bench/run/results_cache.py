"""Keeps finished units on disk, by content: a run that was interrupted goes on, a changed method reruns only itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hmrouter.errors import OutputError
from hmrouter.files import atomic_write


class ResultsCache:
    """Keeps rows of finished units under a directory, one small file each."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def get(self, key: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """The rows of a unit, None if it is not finished (or its file is damaged or edited, which is the same)."""
        try:
            stored = json.loads(self._file(key).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(stored, dict) or stored.get("key") != json.loads(json.dumps(key)):
            return None
        rows = stored.get("rows")
        if not isinstance(rows, list) or stored.get("checksum") != _checksum(rows):
            return None
        return rows if all(isinstance(row, dict) for row in rows) else None

    def put(self, key: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep the rows of a unit."""
        file = self._file(key)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise OutputError(f"cannot write {file}: {e.strerror}", argument="out", hint="choose_another") from e
        document = {"key": key, "rows": rows, "checksum": _checksum(rows)}
        atomic_write(file, json.dumps(document).encode(), follow=False)

    def _file(self, key: Mapping[str, Any]) -> Path:
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self.directory / "units" / digest[:2] / f"{digest[2:34]}.json"


def _checksum(rows: Sequence[Any]) -> str:
    """Hash rows as they come back from their file; it notices a change, and proves nothing about who made it."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
