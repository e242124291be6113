"""A log that Inspect itself writes, of an evaluation against a local stand-in for a model."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hmrouter.errors import LogError
from hmrouter.logs.base import Notes, Request
from hmrouter.logs.formats.inspect_log import InspectReader
from hmrouter.logs.walk import Log
from hmrouter.types import Outcome, Status

SERVER = Path(__file__).parents[2] / "tools" / "stand_in_server.py"

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        not (importlib.util.find_spec("inspect_ai") and importlib.util.find_spec("openai")),
        reason="Inspect is not installed; pip install inspect-ai openai",
    ),
    # What inspect_ai's own imports warn about is not ours to fix.
    pytest.mark.filterwarnings("default"),
]

TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, includes, mean, scorer
from inspect_ai.solver import generate, system_message

@scorer(metrics=[mean()])
def undecided():
    async def score(state, target):
        return Score(value=float("nan"))
    return score

@task
def words():
    samples = [Sample(id="same", input="Repeat the word plum", target="plum"),
               Sample(id=2, input="Repeat the word " + "very " * 2000 + "plum", target="apple")]
    solver = [system_message("You repeat words."), generate()]
    return Task(dataset=samples, solver=solver, scorer=[includes(), undecided()], epochs=2)
"""


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        server.terminate()


def inspect(folder: Path, base_url: str, *arguments: str) -> None:
    environment = os.environ | {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "none"}
    command = [sys.executable, "-m", "inspect_ai", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def evaluate(folder: Path, base_url: str, model: str) -> tuple[Path, Path]:
    """The log of one evaluation as `.eval`, and the same as `.json`."""
    (folder / "task.py").write_text(TASK)
    options = ["-M", "responses_api=false", "--log-dir", "logs", "--display", "none", "--no-fail-on-error"]
    inspect(folder, base_url, "eval", "task.py", "--model", model, "--log-format", "eval", *options)
    (log,) = (folder / "logs").glob("*.eval")
    inspect(folder, base_url, "log", "convert", str(log), "--to", "json", "--output-dir", "converted")
    (converted,) = (folder / "converted").rglob("*.json")
    return log, converted


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory, base_url: str) -> tuple[Path, Path]:
    return evaluate(tmp_path_factory.mktemp("evaluated"), base_url, "openai/gpt-4o-mini")


def read(path: Path, notes: Notes | None = None) -> list[Outcome]:
    reader = InspectReader()
    assert reader.sniff(path)
    outcomes = Log(path, reader).read(Request(notes=notes or Notes()))
    return sorted(outcomes, key=lambda outcome: outcome.key)


def test_both_formats_give_the_same_outcomes(logs: tuple[Path, Path]) -> None:
    log, converted = logs
    notes = Notes()
    outcomes = read(log, notes)
    assert outcomes == read(converted)
    assert Counter((o.task.id, o.score, o.status) for o in outcomes) == {
        ("same", 1.0, Status.OK): 2,
        ("2", 0.0, Status.OK): 2,
    }
    assert len({o.key for o in outcomes}) == 4
    assert {str(o.route) for o in outcomes} == {"system-message-generate:gpt-4o-mini"}
    assert {o.task.suite for o in outcomes} == {"words"}
    assert {(o.input_tokens, o.cached_tokens, o.output_tokens) for o in outcomes} == {(120, 20, 7)}
    assert all(o.seconds is not None and o.when is not None and o.task.text.endswith("plum") for o in outcomes)
    assert all(o.harness_version.startswith("inspect_ai ") for o in outcomes)
    assert [remark for remark in notes.remarks if "includes, undecided: includes counts" in remark]


def test_a_scorer_that_could_not_decide(logs: tuple[Path, Path]) -> None:
    for log in logs:
        outcomes = list(Log(log, InspectReader()).read(Request(mapping={"score": "undecided"})))
        assert [outcome.status for outcome in outcomes] == [Status.UNKNOWN] * 4


def test_an_api_that_fails_says_nothing_about_the_route(tmp_path: Path, base_url: str) -> None:
    log, converted = evaluate(tmp_path, base_url, "openai/broken-1")
    outcomes = read(log)
    assert outcomes == read(converted)
    assert [(o.status, o.score) for o in outcomes] == [(Status.INFRA_ERROR, None)] * 4


def test_a_damaged_archive(tmp_path: Path, logs: tuple[Path, Path]) -> None:
    data = bytearray(logs[0].read_bytes())
    data[100:2000] = bytes(1900)  # the members, not the directory at the end
    (tmp_path / "log.eval").write_bytes(data)
    with pytest.raises(LogError, match="inspect_ai cannot read it"):
        read(tmp_path / "log.eval")
