"""Which files decide whether an attempt passes: its verification takes them from the base, whatever the attempt did."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

TESTS = (
    "tests/**", "test/**", "spec/**", "__tests__/**",
    "test_*.py", "*_test.py", "conftest.py", "pytest.ini", "tox.ini", "noxfile.py", "sitecustomize.py",
    "*_test.go", "*.test.*", "*.spec.*", "*_spec.rb", "*Test.java", "*Tests.cs", "jest.config.*", "vitest.config.*",
)  # fmt: skip
"""Test files and what steers test runners, by convention. A folder at any depth, a name in any folder."""

READ_BY = {"make": ("Makefile", "makefile", "GNUmakefile"), "just": ("justfile", "Justfile"), "npm": ("package.json",),
           "npx": ("package.json",), "yarn": ("package.json",), "pnpm": ("package.json",)}  # fmt: skip
"""Files that programs of a verify command read their orders from."""


class ProtectedPaths:
    """Patterns of the files that a verification reads.

    >>> protected = ProtectedPaths.of("make check && ./ci/run.sh", files=["Makefile", "ci/run.sh", "src/a.py"])
    >>> [protected(p) for p in ("Makefile", "ci/run.sh", "src/a.py", "src/tests/x.json", "lib/test_a.py")]
    [True, True, False, True, True]
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(dict.fromkeys(patterns))
        self._match = [_compiled(pattern) for pattern in self.patterns]

    @classmethod
    def of(cls, command: str, files: Iterable[str], patterns: Sequence[str] = ()) -> ProtectedPaths:
        """Protect what patterns name, by default test files by convention, and what the verify command itself names."""
        there = set(files)
        own = [f"/{name}" for word in _words(command) for name in _named(word) if name in there]
        return cls((*(patterns or TESTS), *own))

    def __call__(self, path: str) -> bool:
        """Whether a file is one of them."""
        return any(match.fullmatch(path) for match in self._match)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=True)
    except ValueError:  # quotes that only a shell understands
        return command.split()


def _named(word: str) -> tuple[str, ...]:
    """The files that a word of a command may mean."""
    path = str(PurePosixPath(word.rstrip(";&|")))
    return (path, *READ_BY.get(path, ()))


def _compiled(pattern: str) -> re.Pattern[str]:
    """Read a pattern: with a leading slash from the top, else in any folder; `**` or a last slash: all below a folder.

    A folder's own name is meant, too: what is put in its place replaces what was below it.
    """
    below = pattern.endswith(("/", "/**"))
    parts = re.split(r"(\*\*|\*|\?)", pattern.strip("/").removesuffix("/**"))
    wild = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(wild.get(part) or re.escape(part) for part in parts)
    anywhere = "" if pattern.startswith("/") else r"(?:.*/)?"
    return re.compile(f"{anywhere}{body}{'(?:/.*)?' if below else ''}", re.DOTALL)
