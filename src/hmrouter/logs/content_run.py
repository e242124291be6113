"""The run of a log that names none."""

from __future__ import annotations

from pathlib import Path

from hmrouter.logs.base import Request
from hmrouter.logs.files import content_hash
from hmrouter.types import CONTENT_RUN


def content_run(request: Request, *paths: Path) -> str:
    """Name the run of a log that names none: as the caller says, else by a hash of what its files hold.

    A store looks such a run up by its rows, so that the file may be renamed, grow or be corrected.
    """
    return request.run or CONTENT_RUN + content_hash(*paths)
