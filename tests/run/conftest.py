"""Small scripted harnesses: programs that behave as real ones were seen to, driven through a template."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.run.drivers.base import Job
from hmrouter.run.drivers.template import TemplateDriver
from hmrouter.types import Route

LONG = 600.0
"""Seconds: against hanging only."""

Scripted = Callable[..., TemplateDriver]
JobOf = Callable[..., Job]


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """`scripted("print('hi')", read={...})` makes the driver of a harness that is this Python program."""

    def make(program: str, environ: dict[str, str] | None = None, **table: Any) -> TemplateDriver:
        path = tmp_path / "scripted"
        path.write_text(
            f"#!{sys.executable}\nimport sys\nif sys.argv[1:] == ['--version']: sys.exit(print('1.2.3'))\n{program}"
        )
        path.chmod(0o755)
        return TemplateDriver(
            {"name": "scripted", "command": [str(path), "{model}", "{prompt}"], **table},
            environ if environ is not None else dict(os.environ),
        )

    return make


@pytest.fixture
def job(tmp_path: Path) -> JobOf:
    """`job(max_seconds=1)` makes a job in a folder of its own."""

    def make(route: str = "scripted:fake-model", **more: Any) -> Job:
        cwd = tmp_path / "work"
        cwd.mkdir(exist_ok=True)
        given: dict[str, Any] = {
            "prompt": "do it",
            "max_seconds": LONG,
            "output": tmp_path / "output",
            "cwd": cwd,
        } | more
        return Job(Route.parse(route), **given)

    return make
