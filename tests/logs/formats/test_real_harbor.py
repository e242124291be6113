"""A job that Harbor itself runs, with an agent that asks a local stand-in for a model.

Harbor needs Python 3.12, so it gets an environment of its own beside `.venv`, which is kept for the next time. There is
no container: the smallest environment that Harbor accepts runs its commands in a folder of the test's.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hmrouter.logs.base import Notes, Request
from hmrouter.logs.formats.harbor import HarborReader
from hmrouter.logs.walk import logs_at
from hmrouter.types import Outcome, Status

ROOT = Path(__file__).parents[3]
SERVER = ROOT / "tests" / "tools" / "stand_in_server.py"

pytestmark = pytest.mark.heavy

ENVIRONMENT = '''
import asyncio, os, re, shutil, tempfile
from pathlib import Path
from harbor.environments.base import BaseEnvironment, ExecResult

class Folder(BaseEnvironment):
    """Commands run on this machine; the absolute paths that Harbor uses are moved into a temporary folder."""

    @staticmethod
    def type():
        return "folder"

    def _validate_definition(self):
        pass

    async def start(self, force_build):
        self.root = tempfile.mkdtemp()
        for place in ("app", "logs/agent", "logs/artifacts", "logs/verifier"):
            os.makedirs(f"{self.root}/{place}")

    async def stop(self, delete):
        shutil.rmtree(getattr(self, "root", ""), ignore_errors=True)

    def inside(self, text):
        return re.sub(r"(?<![\\w./])/(app|harbor|logs|solution|tests)\\b", rf"{self.root}/\\1", str(text))

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", self.inside(command), cwd=f"{self.root}/app", env={**os.environ, **(env or {})},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        out, err = await process.communicate()
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode)

    async def upload_file(self, source_path, target_path):
        Path(self.inside(target_path)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self.inside(target_path))

    async def upload_dir(self, source_dir, target_dir):
        shutil.copytree(source_dir, self.inside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path, target_path):
        shutil.copy(self.inside(source_path), target_path)

    async def download_dir(self, source_dir, target_dir):
        shutil.copytree(self.inside(source_dir), target_dir, dirs_exist_ok=True)
'''

AGENT = '''
import json, os, urllib.request
from harbor.agents.base import BaseAgent

class Repeater(BaseAgent):
    """Writes the model's answer into a file."""

    @staticmethod
    def name():
        return "repeater"

    def version(self):
        return "1.2"

    async def setup(self, environment):
        pass

    async def run(self, instruction, environment, context):
        body = {"model": self.model_name, "messages": [{"role": "user", "content": instruction}]}
        request = urllib.request.Request(os.environ["STAND_IN"] + "/chat/completions", json.dumps(body).encode())
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
        context.n_input_tokens = answer["usage"]["prompt_tokens"]
        context.n_cache_tokens = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
        context.n_output_tokens = answer["usage"]["completion_tokens"]
        context.cost_usd = 0.25
        await environment.exec("echo " + answer["choices"][0]["message"]["content"] + " > answer.txt")
'''

CHECK = """#!/bin/bash
grep -qx plum answer.txt
echo $((1 - $?)) > ../logs/verifier/reward.txt  # relative, because only Harbor's own paths are moved
"""


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        server.terminate()


def write_task(folder: Path, instruction: str) -> None:
    for part in ("environment", "tests"):
        (folder / part).mkdir(parents=True)
    (folder / "instruction.md").write_text(instruction)
    (folder / "task.toml").write_text('version = "1.0"\n')
    (folder / "environment" / "Dockerfile").write_text("FROM scratch\n")
    (folder / "tests" / "test.sh").write_text(CHECK)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, harbor: Path, base_url: str) -> Path:
    """A folder in which Harbor ran two tasks on three agents."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "folder_environment.py").write_text(ENVIRONMENT)
    (folder / "repeater.py").write_text(AGENT)
    write_task(folder / "tasks" / "right", "Repeat the word plum")
    write_task(folder / "tasks" / "wrong", "Repeat the word apple")
    models = ("openai/gpt-5", "openai/broken-1")
    job = {
        "job_name": "real",
        "environment": {"import_path": "folder_environment:Folder"},
        "agents": [{"import_path": "repeater:Repeater", "model_name": model} for model in models] + [{"name": "nop"}],
        "tasks": [{"path": "tasks/right"}, {"path": "tasks/wrong"}],
    }
    (folder / "job.json").write_text(json.dumps(job))
    environment = os.environ | {"PYTHONPATH": str(folder), "STAND_IN": base_url, "HARBOR_TELEMETRY": "off"}
    command = [str(harbor), "run", "-c", "job.json", "--yes"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def read(path: Path, notes: Notes) -> dict[tuple[str, str], Outcome]:
    found = logs_at(path, [HarborReader()], Notes())
    outcomes = [outcome for part in found for outcome in part.read(Request(notes=notes))]
    return {(outcome.task.id, outcome.route.model): outcome for outcome in outcomes}


def test_a_job(work: Path) -> None:
    notes = Notes()
    outcomes = read(work / "jobs", notes)
    assert {key: (outcome.score, outcome.status) for key, outcome in outcomes.items()} == {
        ("right", "gpt-5"): (1.0, Status.OK),
        ("wrong", "gpt-5"): (0.0, Status.OK),
        ("right", "broken-1"): (None, Status.INFRA_ERROR),
        ("wrong", "broken-1"): (None, Status.INFRA_ERROR),
    }
    assert notes.remarks == {"Harbor trials of oracle and nop, which run no model, left out": 2}


def test_what_a_trial_tells(work: Path) -> None:
    outcome = read(work / "jobs", Notes())["right", "gpt-5"]
    assert outcome.task.text == "Repeat the word plum"
    assert (outcome.route.harness, outcome.harness_version) == ("repeater", "1.2")
    assert (outcome.cost, outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens) == (0.25, 120, 20, 7)
    assert outcome.seconds is not None
    assert outcome.when is not None
    assert outcome.run == json.loads((work / "jobs" / "real" / "result.json").read_text())["id"]


def test_the_same_keys_from_elsewhere(work: Path, tmp_path: Path) -> None:
    copied = read(shutil.copytree(work / "jobs" / "real", tmp_path / "copied"), Notes())
    original = read(work / "jobs", Notes())
    assert {outcome.key for outcome in copied.values()} == {outcome.key for outcome in original.values()}
