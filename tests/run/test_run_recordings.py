"""Every driver on what its harness really printed: recordings of good and failing runs (tools/record_harnesses.py)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hmrouter.run.attempt import conclusion, priced
from hmrouter.run.drivers import all_drivers
from hmrouter.run.drivers.base import Ended, HarnessResult, Job, Reader, Usage
from hmrouter.run.process import Exit, How
from hmrouter.types import Route, Status

RECORDINGS = Path(__file__).parent / "recordings"
AIDER = Path(__file__).parents[2] / "examples" / "harnesses" / "aider.toml"
DRIVERS = all_drivers([AIDER], {})
CASES = sorted(str(path.relative_to(RECORDINGS)) for path in RECORDINGS.glob("*/*"))

GOOD = {
    # Two calls of 1,000 prompt tokens, 200 of them cached, and 50 written: the same on every wire.
    "claude-code": Usage(0.00642, "list", 2000, 400, 100, 2),
    "cline-cli": Usage(None, "none", 2000, 400, 100, 2),
    "codex": Usage(None, "none", 2000, 400, 100, 2),
    "copilot-cli": Usage(None, "none", 2000, 400, 100, 2),
    "kimi-cli": Usage(turns=2),
    "mini-swe-agent": Usage(0.00305, "list", 2000, 400, 100, 2),
    "opencode": Usage(0.00305, "list", 2000, 400, 100, 2),
    "openhands": Usage(0.00305, "list", 2000, 400, 100, 2),
    "qwen-coder": Usage(None, "none", 2000, 400, 100, 2),
    "aider": Usage(),
}
READ_AT_THE_END = ("aider", "mini-swe-agent", "openhands")
"""By an exit code, or from a file that is left."""
REFUSED = "refused by the stand-in"


def read(case: str, exit_code: int, how: How = How.EXITED) -> tuple[Reader, HarnessResult]:
    """Feed a recording to its driver's reader, as an attempt does."""
    folder = RECORDINGS / case
    harness = case.partition("/")[0]
    env = {"COPILOT_HOME": str(folder)}
    job = Job(Route("gpt-5", harness), "do it", folder, folder, 60.0, env=env)
    reader = DRIVERS[harness].reader(job)
    for name, take_in in (("stderr", reader.error_line), ("stdout", reader.line)):
        log = folder / f"{name}.log"
        for line in log.read_text().splitlines() if log.exists() else ():
            take_in(line)
    reader.close(exit_code)
    ended, error = conclusion(Exit(how, exit_code, 1.0, True), reader)
    return reader, HarnessResult(ended, reader.usage, 1.0, error, exit_code=exit_code)


def test_there_are_recordings_of_every_driver() -> None:
    assert {case.partition("/")[0] for case in CASES if case.endswith("/good")} == set(DRIVERS) == set(GOOD)
    assert {case.partition("/")[0] for case in CASES if case.endswith("/error")} == set(DRIVERS)


@pytest.mark.parametrize("harness", GOOD)
def test_a_good_run(harness: str) -> None:
    reader, result = read(f"{harness}/good", 0)
    assert (result.ended, result.status, result.error) == (Ended.FINISHED, Status.OK, "")
    assert reader.usage == GOOD[harness]


@pytest.mark.parametrize("exit_code", [0, 1])
@pytest.mark.parametrize("harness", GOOD)
def test_an_api_error_says_nothing_about_the_route_whatever_the_exit_code(harness: str, exit_code: int) -> None:
    _, result = read(f"{harness}/error", exit_code)
    assert result.status is Status.INFRA_ERROR
    assert not result.usage.output_tokens
    assert not result.usage.dollars
    if harness == "kimi-cli":  # it tells nobody: the turn ends without a word
        assert (result.ended, result.error) == (Ended.CRASHED, "the turn ended without an answer of the model")
    else:
        assert result.ended is Ended.API_ERROR
        assert REFUSED in result.error
        assert not result.error.startswith("{")


def test_the_same_tokens_cost_the_same_in_every_harness_that_tells_them() -> None:
    dollars = {h: priced(usage, "gpt-5").dollars for h, usage in GOOD.items() if h != "claude-code"}
    assert {h for h, cost in dollars.items() if cost is None} == {"aider", "kimi-cli"}
    assert [cost for cost in dollars.values() if cost is not None] == [pytest.approx(0.00305)] * 7


def test_claude_codes_own_limit_is_a_cap_and_its_usage_is_read_where_it_is() -> None:
    reader, result = read("claude-code/cap", 1)
    assert (result.ended, result.status) == (Ended.CAP, Status.OK)
    assert "maximum budget" in result.error
    assert (reader.usage.input_tokens, reader.usage.output_tokens) == (1000, 50)
    assert reader.usage.dollars == pytest.approx(0.00321)


def test_a_service_that_stays_busy_until_the_timeout_is_an_api_error() -> None:
    _, result = read("claude-code/busy", -15, How.TIMEOUT)
    assert (result.ended, result.status) == (Ended.API_ERROR, Status.INFRA_ERROR)
    assert "503" in result.error


@pytest.mark.parametrize("case", [case for case in CASES if case.partition("/")[0] not in READ_AT_THE_END])
def test_half_a_recording_is_no_finished_run(case: str) -> None:
    """A reader that is fed a run which broke off says neither that it finished nor anything that was not there."""
    harness, _, kind = case.partition("/")
    lines = (RECORDINGS / case / "stdout.log").read_text().splitlines()
    job = Job(Route("gpt-5", harness), "x", RECORDINGS, RECORDINGS, 60.0, env={"HOME": "/none"})
    reader = DRIVERS[harness].reader(job)
    terminal = [i for i, line in enumerate(lines) if _feed(reader, line) and reader.ended is not None]
    assert (terminal[0] if terminal else len(lines)) >= (len(lines) - 2 if kind != "busy" else 0)


@pytest.mark.parametrize("harness", GOOD)
def test_what_is_no_event_is_passed_over(harness: str) -> None:
    reader = DRIVERS[harness].reader(Job(Route("gpt-5", harness), "x", RECORDINGS, RECORDINGS / "none", 60.0))
    for line in ("", "{", "[]", "null", '"text"', "plain", '{"type": 7}', '{"type": null, "event": [], "usage": "x"}'):
        reader.line(line)
        reader.error_line(line)
    reader.close(1)
    assert (reader.ended, reader.usage) == (None, Usage())


@pytest.mark.parametrize("path", sorted(RECORDINGS.rglob("*.*")), ids=lambda p: str(p.relative_to(RECORDINGS)))
def test_no_recording_holds_a_key_or_a_folder_of_a_machine(path: Path) -> None:
    if path.is_file():
        content = path.read_text()
        assert "stand-in-key" not in content
        assert not re.search(r"(?<![\w-])/(home|root|work)/", content)
        if path.suffix == ".json":
            json.loads(content)


def _feed(reader: Reader, line: str) -> bool:
    reader.line(line)
    return True
