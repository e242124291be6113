"""A sandbox around harnesses and verifications: the checkout is writable, the rest of the machine is not."""

from __future__ import annotations

import shutil
from pathlib import Path

from hmrouter.errors import HarnessError, UnknownName

SANDBOXES = ("bubblewrap",)


def sandbox(name: str, writable: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """Return the command of a sandbox, with `{tree}` and `{output}` for the folders of an attempt.

    `writable`: other folders, such as those in which a harness keeps its own state. The network stays as it is, as
    harnesses talk to their models.
    """
    if name not in SANDBOXES:
        raise UnknownName("sandbox", name, SANDBOXES)
    program = shutil.which("bwrap")
    if program is None:
        raise HarnessError("the sandbox bubblewrap is not installed here", hint="install_bubblewrap")
    words = [program, "--die-with-parent", "--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
             "--tmpfs", "/tmp"]  # fmt: skip
    for folder in (*map(str, writable), "{tree}", "{output}"):
        words += ["--bind", folder, folder]
    return (*words, "--chdir", "{tree}", "--")
