"""Real harnesses at pinned versions, run to the end against the stand-in. `make harnesses` installs them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hmrouter.run.drivers.base import Driver, Ended, HarnessResult
from hmrouter.run.leftovers import alive, mark_of
from hmrouter.run.stand_in import Behaviour, StandIn
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Status, Task

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("hmrouter")
VERSIONS = {
    "claude-code": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "qwen-coder": "@qwen-code/qwen-code",
    "copilot-cli": "@github/copilot",
    "opencode": "opencode-ai",
    "kimi-cli": "@moonshot-ai/kimi-code",
    "cline-cli": "cline",
}
"""Harness -> its package."""
FOUR = ("claude-code", "codex", "qwen-coder", "copilot-cli")
BEHAVIOURS = {
    "claude-sonnet-4-5": Behaviour(), "gpt-5": Behaviour(), "fake-error": Behaviour(api_error=400),
    "fake-hang": Behaviour(hangs=True), "fake-shell": Behaviour(with_shell=True),
}  # fmt: skip


@pytest.fixture(scope="module")
def models() -> Iterator[StandIn]:
    with StandIn(BEHAVIOURS) as models:
        yield models


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


@pytest.fixture
def driver_of(models: StandIn, tmp_path: Path, tools: None) -> Callable[[str], Driver]:
    """`driver_of("codex")`, in an environment in which it finds the stand-in; skipped where it is not installed."""
    from harnesses import drivers, environment, prepare

    def make(harness: str) -> Driver:
        home = tmp_path / "home"
        found = drivers(environment(models, home), only=harness).get(harness)
        if found is None:
            pytest.skip(f"{harness} is not installed; run: make harnesses")
        prepare(found, home, models)
        return found

    return make


@pytest.fixture
def ran(driver_of: Callable[[str], Driver], tmp_path: Path) -> Callable[..., HarnessResult]:
    """`ran("codex", "gpt-5")` runs the task in `work`, and checks that no process is left of it."""
    from harnesses import run

    def start(harness: str, model: str, **more: Any) -> HarnessResult:
        result = run(driver_of(harness), model, tmp_path, **more)
        assert alive(mark_of(tmp_path / "output")) == []
        return result

    return start


@pytest.mark.parametrize("harness", VERSIONS)
def test_it_writes_the_file_and_tokens_and_dollars_are_stored(
    ran: Callable[..., HarnessResult], tmp_path: Path, tools: None, harness: str
) -> None:
    from harnesses import NPM, TASK

    model = "claude-sonnet-4-5" if harness == "claude-code" else "gpt-5"
    result = ran(harness, model)
    assert (tmp_path / "work" / "hello.txt").read_text().strip() == "hello"
    assert (result.ended, result.status, result.error) == (Ended.FINISHED, Status.OK, "")
    assert result.version == NPM[VERSIONS[harness]]
    usage = result.usage
    told = (usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    assert told == ((None, None, None) if harness == "kimi-cli" else (2000, 400, 100))
    assert usage.turns == 2
    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        outcome = Outcome(
            Task.of_text(TASK), Route(model, harness), 1.0, status=result.status, cost=usage.dollars,
            input_tokens=usage.input_tokens, cached_tokens=usage.cached_tokens, output_tokens=usage.output_tokens,
            seconds=result.seconds, when=datetime.now(UTC), source="run", harness_version=result.version,
        )  # fmt: skip
        store.add([outcome])
        (kept,) = store.outcomes()
    assert (kept.input_tokens, kept.output_tokens, kept.seconds) == (told[0], told[2], result.seconds)
    if harness == "kimi-cli":
        assert kept.cost is None
    else:
        assert kept.cost == pytest.approx(0.00642 if harness == "claude-code" else 0.00305)


@pytest.mark.parametrize("harness", [*VERSIONS, "aider"])
def test_an_api_error_says_nothing_about_the_route(
    ran: Callable[..., HarnessResult], tmp_path: Path, harness: str
) -> None:
    result = ran(harness, "fake-error")
    assert result.status is Status.INFRA_ERROR
    assert not (tmp_path / "work" / "hello.txt").exists()
    if harness != "kimi-cli":  # which tells nobody
        assert result.ended is Ended.API_ERROR
        assert "refused by the stand-in" in result.error
    if harness == "aider":
        assert result.exit_code == 0
    stored = b"".join(p.read_bytes() for p in (tmp_path / "output").rglob("*") if p.is_file())
    assert stored
    assert b"stand-in-key" not in stored


@pytest.mark.parametrize("harness", FOUR)
def test_a_model_that_never_answers_is_ended_at_the_timeout(ran: Callable[..., HarnessResult], harness: str) -> None:
    result = ran(harness, "fake-hang", max_seconds=10.0)
    assert result.ended is Ended.TIMEOUT
    assert not result.usage.anything


@pytest.mark.parametrize("harness", ["qwen-coder", "copilot-cli"])
@pytest.mark.parametrize("bypass", [False, True])
def test_commands_need_the_users_word(
    ran: Callable[..., HarnessResult], tmp_path: Path, harness: str, bypass: bool
) -> None:
    result = ran(harness, "fake-shell", bypass=bypass)
    assert (tmp_path / "work" / "hello.txt").exists() == bypass
    assert result.usage.anything


def test_codex_runs_commands_in_its_own_sandbox_without_the_users_word(
    driver_of: Callable[[str], Driver], tmp_path: Path
) -> None:
    from harnesses import PLACE, run

    if PLACE.is_relative_to(tempfile.gettempdir()):
        pytest.skip("Codex makes no sandbox where its home is below the system's temporary folder")
    driver = driver_of("codex")
    with tempfile.TemporaryDirectory(dir=PLACE) as home:
        driver.environ = {**driver.environ, "HOME": home}
        result = run(driver, "gpt-5", tmp_path, bypass=False)
    if "bwrap" in (tmp_path / "output" / "stdout.log").read_text():
        pytest.skip("this machine allows Codex no sandbox")
    assert (tmp_path / "work" / "hello.txt").read_text() == "hello\n"
    assert result.ended is Ended.FINISHED


def test_doctor_finds_them_and_its_probe_works(models: StandIn, tmp_path: Path, tools: None) -> None:
    from harnesses import environment

    env = environment(models, tmp_path / "home") | {"OMP_NUM_THREADS": "1"}
    (tmp_path / "home").mkdir()
    words = [str(COMMAND), "doctor", "--json", "--probe", "--route", "claude-code:claude-sonnet-4-5"]
    words += ["--route", "qwen-coder:fake-error", "--route", "copilot-cli:unheard-of"]
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    document = json.loads(done.stdout)
    found = {finding["harness"]: finding for finding in document["harnesses"]}
    if not all(finding["version"] for finding in found.values()):
        pytest.skip("the harnesses are not installed; run: make harnesses")
    assert done.returncode == 1  # two of the three do not work
    assert found["claude-code"]["keys"] == ["ANTHROPIC_API_KEY"]
    assert "claude-sonnet-4-5" in found["claude-code"]["models"]
    assert "stand-in-key" not in done.stdout + done.stderr
    good, refused, unlisted = document["probes"]
    assert (good["works"], good["ended"], good["input_tokens"]) == (True, "finished", 2000)
    assert good["dollars"] == pytest.approx(0.00642)
    assert (refused["works"], refused["ended"]) == (False, "api_error")
    assert (unlisted["works"], unlisted["ended"]) == (False, None)
    assert "does not list unheard-of" in unlisted["error"]
