"""One harness on one prompt, with real processes: how it ends, what it used, and that nothing is left of it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hmrouter.errors import HarnessError
from hmrouter.run.attempt import run_harness
from hmrouter.run.drivers.base import Ended, HarnessResult, Job, Usage
from hmrouter.run.drivers.template import TemplateDriver
from hmrouter.run.leftovers import alive, mark_of
from hmrouter.types import Status

JobOf = Callable[..., Job]
Scripted = Callable[..., TemplateDriver]

EVENTS = {
    "input_tokens": "usage.in", "output_tokens": "usage.out", "dollars": "usage.cost", "turns": "usage.turns",
    "finished": {"type": "done"}, "failed": {"type": "error"}, "error": "message",
}  # fmt: skip
FOREVER = "import time\nwhile True: time.sleep(60)\n"
IGNORES_SIGTERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
DONE = 'print(\'{"type": "done"}\', flush=True)\n'


def says(**event: object) -> str:
    return f"print({json.dumps(event)!r}, flush=True)\n"


def reach(ready: Path, *words: str) -> str:
    """Say in a file that the harness came so far."""
    return f"with open({str(ready)!r}, 'w') as ready: print({', '.join((*words, 'file=ready'))})\n"


def test_a_finished_run_tells_what_it_used(scripted: Scripted, job: JobOf) -> None:
    program = says(usage={"in": 1200, "out": 30, "cost": 0.25, "turns": 2}) + DONE
    seen: list[tuple[Usage, float]] = []
    result = run_harness(scripted(program, read=EVENTS), job(), lambda usage, seconds: seen.append((usage, seconds)))
    assert result.ended is Ended.FINISHED
    assert result.status is Status.OK
    assert result.usage == Usage(0.25, "list", 1200, None, 30, 2)
    assert (result.error, result.version, result.transport, result.exit_code) == ("", "1.2.3", "cli", 0)
    assert result.seconds > 0
    assert seen[-1][0] == result.usage


def test_an_api_error_is_no_failure_of_the_route_whatever_the_exit_code(scripted: Scripted, job: JobOf) -> None:
    for code in (0, 1):
        driver = scripted(says(type="error", message="400 forced") + f"sys.exit({code})", read=EVENTS)
        result = run_harness(driver, job())
        assert (result.ended, result.status, result.exit_code) == (Ended.API_ERROR, Status.INFRA_ERROR, code)
        assert result.error == "400 forced"


def test_an_api_error_that_is_only_text_is_found_by_the_pattern(scripted: Scripted, job: JobOf) -> None:
    program = "print('litellm.BadRequestError: OpenAIException - forced')"
    result = run_harness(scripted(program, read={"error_text": r"^litellm\.\w+Error"}), job())
    assert (result.ended, result.exit_code) == (Ended.API_ERROR, 0)
    assert "forced" in result.error
    assert run_harness(scripted("print('fine')"), job()).ended is Ended.FINISHED


def test_an_error_that_is_tried_again_is_not_the_end(scripted: Scripted, job: JobOf) -> None:
    read = {"error_text": r"^litellm\.\w+Error", "retry_text": "^Retrying in"}
    program = "print('litellm.RateLimitError: busy'); print('Retrying in 0.2 seconds...'); print('Done')"
    assert run_harness(scripted(program, read=read), job()).ended is Ended.FINISHED
    program += "; print('litellm.RateLimitError: still busy')"
    result = run_harness(scripted(program, read=read), job())
    assert (result.ended, result.error) == (Ended.API_ERROR, "litellm.RateLimitError: still busy")


@pytest.mark.parametrize(("turns", "status"), [(0, Status.INFRA_ERROR), (3, Status.OK)])
def test_a_crash_counts_for_the_route_only_after_work(
    scripted: Scripted, job: JobOf, turns: int, status: Status
) -> None:
    result = run_harness(scripted(says(usage={"turns": turns}) + "sys.exit(0)", read=EVENTS), job())
    assert (result.ended, result.status) == (Ended.CRASHED, status)
    assert "exit code 0" in result.error


def timed_out(driver: TemplateDriver, job: JobOf, ready: Path) -> tuple[HarnessResult, Job]:
    """Run into a time limit that is as short as this machine allows: the harness came as far as `ready` before it."""
    for seconds in (1.0, 8.0, 64.0, 512.0):
        asked = job(max_seconds=seconds)
        result = run_harness(driver, asked, grace=0.5)
        if ready.exists():
            return result, asked
    raise AssertionError("the harness never came to its point")


def is_gone(pid: int) -> bool:
    """Whether a process is dead; nobody may have collected its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.mark.parametrize("program", [FOREVER, IGNORES_SIGTERM + FOREVER], ids=["hangs", "ignores SIGTERM"])
def test_a_hanging_harness_is_gone_at_the_timeout_with_all_its_children(
    scripted: Scripted, job: JobOf, tmp_path: Path, program: str
) -> None:
    # A child in the same group, and one that left it as the shells of real harnesses do; both ignore SIGTERM.
    child = [sys.executable, "-c", IGNORES_SIGTERM + FOREVER]
    children = "\n".join(
        f"pids.append(subprocess.Popen({child}, start_new_session={own}).pid)" for own in (False, True)
    )
    ready = tmp_path / "ready"
    program = f"import os, subprocess\npids = [os.getpid()]\n{children}\n{reach(ready, '*pids')}{program}"
    result, asked = timed_out(scripted(program), job, ready)
    assert (result.ended, result.status) == (Ended.TIMEOUT, Status.OK)
    pids = [int(pid) for pid in ready.read_text().split()]
    assert len(pids) == 3
    assert all(map(is_gone, pids))
    assert alive(mark_of(asked.output), group=pids[0]) == []


def test_a_terminal_event_followed_by_silence_is_an_end(scripted: Scripted, job: JobOf, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    result, asked = timed_out(scripted(DONE + reach(ready) + FOREVER, read=EVENTS), job, ready)
    assert (result.ended, result.exit_code) == (Ended.FINISHED, -signal.SIGTERM)
    assert alive(mark_of(asked.output)) == []


def test_a_service_that_fails_until_the_timeout_is_an_api_error(scripted: Scripted, job: JobOf, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    program = "print('503 overloaded, trying again', file=sys.stderr, flush=True)\n" + reach(ready) + FOREVER
    result, _ = timed_out(scripted(program, read={"retry_text": "^503"}), job, ready)
    assert (result.ended, result.status, result.error) == (
        Ended.API_ERROR, Status.INFRA_ERROR, "503 overloaded, trying again",
    )  # fmt: skip


@pytest.mark.parametrize("limit", [{"max_dollars": 0.5}, {"max_turns": 4}])
def test_a_cap_ends_it_after_what_it_told(scripted: Scripted, job: JobOf, limit: dict[str, float]) -> None:
    program = "".join(says(usage={"cost": 0.1 * n, "turns": n}) for n in range(1, 7)) + FOREVER
    result = run_harness(scripted(program, read=EVENTS), job(**limit), grace=0.5)
    assert (result.ended, result.status) == (Ended.CAP, Status.OK)
    assert (result.usage.dollars or 0) >= 0.5


def test_tokens_have_a_price_where_dollars_are_not_told(scripted: Scripted, job: JobOf) -> None:
    program = says(usage={"in": 200_000, "out": 10_000}) + DONE
    result = run_harness(scripted(program, read=EVENTS), job("scripted:gpt-5"))
    assert result.usage.dollars == pytest.approx(0.35)
    assert result.usage.cost_basis == "list"
    unknown = run_harness(scripted(program, read=EVENTS), job())
    assert (unknown.usage.dollars, unknown.usage.cost_basis) == (None, "none")


def test_stop_cancels(scripted: Scripted, job: JobOf) -> None:
    stop = threading.Event()
    program = says(usage={"turns": 1}) + FOREVER
    asked = job()
    result = run_harness(
        scripted(program, read=EVENTS), asked, lambda usage, _: stop.set() if usage.turns else None, stop, grace=0.5
    )
    assert (result.ended, result.status) == (Ended.CANCELLED, Status.UNKNOWN)
    assert alive(mark_of(asked.output)) == []


def test_an_exception_of_the_caller_leaves_no_process(scripted: Scripted, job: JobOf) -> None:
    asked = job()

    def interrupted(usage: Usage, seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_harness(scripted(says(usage={"turns": 1}) + FOREVER, read=EVENTS), asked, interrupted, grace=0.5)
    assert alive(mark_of(asked.output)) == []


def test_keys_reach_only_the_harness_that_needs_them_and_are_masked(scripted: Scripted, job: JobOf) -> None:
    environ = dict(os.environ) | {"GOOD_API_KEY": "good-secret-1", "OTHER_API_KEY": "other-secret-2"}
    program = (
        "import json, os\n"
        "print(json.dumps(sorted(n for n in os.environ if n.endswith('_KEY') or n.startswith('HMROUTER'))))\n"
        "print(os.environ['GOOD_API_KEY'], 'sk-" + "x" * 24 + "', file=sys.stderr)\n"
        "open(sys.argv[3], 'w').write(os.environ['GOOD_API_KEY'])\n"
        "print(json.dumps({'type': 'error', 'message': 'bad key ' + os.environ['GOOD_API_KEY']}))\n"
    )
    driver = scripted(program, environ, keys=["GOOD_API_KEY"], read=EVENTS, bypassed=["{output}/left.txt"])
    asked = job(bypass=True)
    result = run_harness(driver, asked)
    out, err = ((asked.output / f"{name}.log").read_text() for name in ("stdout", "stderr"))
    assert json.loads(out.splitlines()[0]) == ["GOOD_API_KEY", "HMROUTER_ATTEMPT"]
    assert result.error == "bad key [GOOD_API_KEY]"
    assert err == "[GOOD_API_KEY] [key]\n"
    assert (asked.output / "left.txt").read_text() == "[GOOD_API_KEY]"
    assert all(b"secret" not in path.read_bytes() for path in asked.output.iterdir())


def test_standard_input_is_empty(scripted: Scripted, job: JobOf) -> None:
    asked = job()
    run_harness(scripted("print(repr(sys.stdin.read()))"), asked)
    assert (asked.output / "stdout.log").read_text() == "''\n"


def test_a_harness_that_is_not_there_is_refused(scripted: Scripted, job: JobOf) -> None:
    driver = scripted("pass", install="make it")
    driver.program = "no-such-program"
    with pytest.raises(HarnessError, match=r"not installed .*; install it with: make it"):
        run_harness(driver, job())


def test_a_harness_that_never_asks_needs_the_word_of_the_user(scripted: Scripted, job: JobOf) -> None:
    driver = scripted("print('ran')", only_bypassed=True)
    with pytest.raises(HarnessError) as refused:
        run_harness(driver, job())
    assert refused.value.argument == "bypass"
    assert not job().output.exists()
    assert run_harness(driver, job(bypass=True)).ended is Ended.FINISHED
