"""Commands of git, as the program needs them, with errors of one line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hmrouter.errors import GitError

ENVIRONMENT: Mapping[str, str] = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
"""Answers in English, no question at a terminal, and no lock that a running harness could trip over."""
AUTHOR: Mapping[str, str] = {
    "GIT_AUTHOR_NAME": "hmrouter", "GIT_AUTHOR_EMAIL": "hmrouter@localhost",
    "GIT_COMMITTER_NAME": "hmrouter", "GIT_COMMITTER_EMAIL": "hmrouter@localhost",
}  # fmt: skip
SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false")
"""Settings with which nothing that a repository brings along is executed."""


def git(folder: Path, *words: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
    """Run a git command in a folder and return what it prints; a refusal is a `GitError` of one line."""
    done = _run(folder, words, stdin, env)
    if done.returncode:
        said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        told = next((line for line in said if line.startswith(("fatal:", "error:"))), said[-1] if said else "it failed")
        raise GitError(f"git {words[0]}: {told.partition(': ')[2] or told}")
    return done.stdout


def succeeds(folder: Path, *words: str, stdin: bytes | None = None) -> bool:
    """Whether a git command exits with 0."""
    return _run(folder, words, stdin, None).returncode == 0


def names(output: bytes) -> list[str]:
    """Read a list of paths that are separated by zero bytes."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def _run(
    folder: Path, words: Sequence[str], stdin: bytes | None, env: Mapping[str, str] | None
) -> subprocess.CompletedProcess[bytes]:
    # The variables that git sets for its hooks would point it to another repository.
    around = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *SAFE, *words]
    try:
        return subprocess.run(
            command, cwd=folder, input=stdin, capture_output=True, env={**around, **ENVIRONMENT, **(env or {})},
            stdin=None if stdin is not None else subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError as error:
        missing = "git is not installed" if folder.is_dir() else f"the folder {folder} is not there"
        raise GitError(missing, hint="install_git" if folder.is_dir() else "") from error
    except OSError as error:
        raise GitError(f"cannot run git in {folder}: {error.strerror or error}") from error
