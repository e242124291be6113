"""What a stand-in model does with a task."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hmrouter.errors import UsageError

_ASKED = re.compile(r'Write "([^"\n]+)" with: ([^\n]*)')

Files = Mapping[str, str]
"""Path below the working directory -> content."""


def files_asked_for(task: str) -> dict[str, str]:
    r"""The files that a task asks for, by its lines of the form `Write "PATH" with: CONTENT`.

    >>> files_asked_for('Please.\nWrite "a.txt" with: one\\ntwo\nWrite "b/c.txt" with: three')
    {'a.txt': 'one\ntwo\n', 'b/c.txt': 'three\n'}
    """
    return {path: content.replace("\\n", "\n") + "\n" for path, content in _ASKED.findall(task)}


def wrong_files(task: str) -> dict[str, str]:
    """The same files with another content than the task asks for."""
    return dict.fromkeys(files_asked_for(task), "something else\n")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one model answers."""

    files: Callable[[str], Files] = files_asked_for
    """Task -> what it writes."""
    api_error: int = 0
    """An HTTP status that every request is refused with; 0: none is."""
    hangs: bool = False
    """Whether it never answers."""
    with_shell: bool = False
    """Whether it writes files by shell commands even where there is a tool for files."""
    input_tokens: int = 1000
    """Prompt tokens of each call, cached ones included."""
    cached_tokens: int = 200
    output_tokens: int = 50

    @classmethod
    def parse(cls, text: str) -> Behaviour:
        """Read a behaviour: `solve`, `shell`, `wrong`, `hang`, `error` (or `error=503`), or `only=WORD,WORD`.

        >>> Behaviour.parse("error=503").api_error
        503
        >>> Behaviour.parse("only=parser,report").files('Mend the parser. Write "a" with: b')
        {'a': 'b\\n'}
        """
        kind, _, detail = text.partition("=")
        if kind == "only" and detail:
            words = detail.split(",")
            return cls(lambda task: (files_asked_for if any(word in task for word in words) else wrong_files)(task))
        if kind == "error" and (detail or "400").isdecimal():
            return cls(api_error=int(detail or "400"))
        plain = {"solve": cls(), "shell": cls(with_shell=True), "wrong": cls(wrong_files), "hang": cls(hangs=True)}
        if text not in plain:
            known = "solve, shell, wrong, hang, error, error=STATUS, only=WORD,WORD"
            raise UsageError(f"is no behaviour; choose from {known}", argument="behaviour", value=text)
        return plain[text]
