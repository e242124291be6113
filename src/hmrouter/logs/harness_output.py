"""Recognising the output of a harness itself, only to say that it is no log of outcomes.

It tells what was done, never whether that was right.
"""

from __future__ import annotations

import re
from pathlib import Path

from hmrouter.logs.files import head

_MARKS = {
    "Claude Code": rb'\s*\{"type": ?"(result|system)", ?"subtype": ?"\w+".*"session_id": ?"',
    "Codex": rb'\s*\{"type": ?"thread\.started", ?"thread_id": ?"',
    "Gemini CLI": rb'\s*\{\s*"session_id": ?"[^"]*",\s*"(response|error|stats)":',
    "mini-SWE-agent": rb'This is mini-swe-agent version|\s*\{\s*"info": ?\{\s*"model_stats":',
    "OpenCode": rb'\s*\{"type": ?"\w+", ?"timestamp": ?\d+, ?"sessionID": ?"',
    "OpenHands": rb".*OpenHands CLI|.*--JSON Event--",
    "Qwen Code": rb'\s*\[\s*\{"type": ?"system", ?"subtype": ?"\w+".*"session_id": ?"',
}
"""Harness -> how its output begins."""

_PATTERNS = {harness: re.compile(mark, re.DOTALL) for harness, mark in _MARKS.items()}


def harness_of(path: Path) -> str:
    """Name the harness whose output a file is, by its content; "" if it is none that is known.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     output = Path(folder, "out")
    ...     _ = output.write_text('{"type":"thread.started","thread_id":"0"}')
    ...     harness_of(output)
    'Codex'
    """
    start = head(path)
    return next((harness for harness, pattern in _PATTERNS.items() if pattern.match(start)), "")
