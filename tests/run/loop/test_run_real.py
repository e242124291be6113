"""Real harnesses at pinned versions through `hmrouter run`, against the stand-in. `make harnesses` installs them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hmrouter.run.permission import SENTENCE
from hmrouter.run.stand_in import Behaviour, StandIn
from hmrouter.types import Status

if TYPE_CHECKING:
    from tests.run.loop.conftest import World

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[3]
TASK = 'Please do this. Write "hello.txt" with: hello'
VERIFY = 'test "$(cat hello.txt)" = hello'
MODELS = {"claude-code": "claude-sonnet-4-5", "codex": "gpt-5", "qwen-coder": "gpt-5", "copilot-cli": "gpt-5"}
BEHAVIOURS = {
    "claude-sonnet-4-5": Behaviour(), "gpt-5": Behaviour(), "claude-opus-4-5": Behaviour(api_error=400),
    "gpt-5-mini": Behaviour(api_error=400),
}  # fmt: skip


@pytest.fixture(scope="module")
def models() -> Iterator[StandIn]:
    with StandIn(BEHAVIOURS) as models:
        yield models


@pytest.fixture
def environ(models: StandIn, world_elsewhere: World, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment in which harnesses find the stand-in."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from harnesses import environment

    home = world_elsewhere.folder / "home"
    home.mkdir()
    return environment(models, home)


@pytest.mark.parametrize("harness", MODELS)
def test_a_real_harness_does_a_task_and_what_it_used_is_stored(
    harness: str, world_elsewhere: World, environ: dict[str, str]
) -> None:
    world = world_elsewhere
    world.routes = [f"{harness}:{MODELS[harness]}"]
    world.history = "public"
    permission = ("--unattended", SENTENCE) if harness == "codex" else ()
    done = world.run(TASK, "--verify", VERIFY, *permission, **environ)
    if "not installed" in done.stderr:
        pytest.skip(f"{harness} is not installed; run: make harnesses")
    assert done.returncode == 0, done.stderr
    assert (world.repo / "hello.txt").read_text().strip() == "hello"
    (outcome,) = world.outcomes()
    assert (outcome.score, outcome.route.harness, outcome.attempt) == (1.0, harness, 1)
    assert outcome.harness_version
    assert outcome.output_tokens
    assert outcome.cost
    assert world.processes() == []


@pytest.mark.parametrize("harness", MODELS)
def test_an_error_of_the_service_is_recorded_as_one(
    harness: str, world_elsewhere: World, environ: dict[str, str]
) -> None:
    world = world_elsewhere
    world.routes = [f"{harness}:{'claude-opus-4-5' if harness == 'claude-code' else 'gpt-5-mini'}"]
    world.history = "public"
    permission = ("--unattended", SENTENCE) if harness == "codex" else ()
    done = world.run(TASK, "--verify", VERIFY, "--no-baseline", *permission, **environ)
    if "not installed" in done.stderr:
        pytest.skip(f"{harness} is not installed; run: make harnesses")
    assert done.returncode == 1, done.stderr
    assert [(o.status, o.score) for o in world.outcomes()] == [(Status.INFRA_ERROR, None)]
    assert world.git("status", "--short") == ""


def test_the_second_pair_is_a_real_one_too(world_elsewhere: World, environ: dict[str, str]) -> None:
    world = world_elsewhere
    if shutil.which("claude", path=environ["PATH"]) is None:
        pytest.skip("claude-code is not installed; run: make harnesses")
    world.harness("weak", "pathlib.Path('hello.txt').write_text('wrong')\n")
    world.routes += ["claude-code:claude-sonnet-4-5"]
    world.evidence(weak=1.0)
    done = world.run(TASK, "--verify", VERIFY, **environ)
    assert done.returncode == 0, done.stderr
    assert [(o.route.harness, o.score, o.attempt) for o in world.outcomes()] == [
        ("weak", 0.0, 1),
        ("claude-code", 1.0, 2),
    ]
