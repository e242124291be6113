"""What a harness may do when it asks: the answer to each permission request of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

Policy = Literal["edits", "everything"]
"""`edits`: look at and change files in the workspace. `everything`: commands and the network, too."""

LOOKS = frozenset({"read", "search", "think"})
CHANGES = frozenset({"edit", "delete", "move"})


def permitted(policy: Policy, kind: str | None, paths: Sequence[str], workspace: Path) -> bool:
    """Whether an action may be done. Below `edits`, what is not known to stay inside the workspace may not.

    >>> here = Path("/home/me/project")
    >>> permitted("edits", "edit", ["/home/me/project/a.py"], here), permitted("edits", "edit", ["/etc/passwd"], here)
    (True, False)
    >>> permitted("edits", "execute", [], here), permitted("everything", "execute", [], here)
    (False, True)
    """
    if policy == "everything":
        return True
    inside = all(_is_inside(path, workspace, for_change=kind in CHANGES) for path in paths)
    return inside and (kind in LOOKS or (kind in CHANGES and bool(paths)))


def _is_inside(path: str, workspace: Path, *, for_change: bool) -> bool:
    """Whether a path leads into the workspace, through links too; a change of git's own files runs code later."""
    root = workspace.resolve()
    target = Path(root, path).resolve()
    return target.is_relative_to(root) and not (for_change and ".git" in target.relative_to(root).parts)
