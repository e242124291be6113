"""The fuzzer makes logs of every format, and what it does to them is borne."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from hmrouter.logs import format_names, read_logs, sniff

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.mark.parametrize("name", format_names())
def test_an_undamaged_log_is_whole(tmp_path: Path, name: str) -> None:
    from fuzz_formats import BUILDERS

    for path, content in BUILDERS[name]().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    assert sniff(tmp_path) == name
    assert list(read_logs(tmp_path, model="gpt-5", harness="codex"))


@pytest.mark.parametrize("start", range(0, 400, 50))
def test_damaged_logs_are_read_or_refused(tmp_path: Path, start: int) -> None:
    from fuzz import fault_of

    for number in range(start, start + 50):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert not fault_of(number, folder), number
