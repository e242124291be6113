"""Real repositories, scripted harnesses and the real command line, in folders that a test alone has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hmrouter.run.leftovers import MARK
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task

COMMAND = Path(sys.executable).with_name("hmrouter")
VERIFY = f"{sys.executable} tests/test_calc.py"
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": "import sys\nsys.path.insert(0, '.')\nfrom calc import add\nassert add(2, 2) == 4\n",
    "README": "A calculator.\n",
}
SOLVE = "pathlib.Path('calc.py').write_text('def add(a, b):\\n    return a + b\\n')\n"
"""What a harness does that can do the task."""


@dataclass
class World:
    """A repository with a store beside it, and harnesses that are small programs."""

    folder: Path
    verify: str = VERIFY
    solve: str = SOLVE
    history: str = "none"
    store: Path | None = None
    """Where the store is, if not beside the repository."""
    harnesses: list[Path] = field(default_factory=list)
    routes: list[str] = field(default_factory=list)

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    @property
    def url(self) -> str:
        return f"sqlite:///{self.store or self.folder / 'store.db'}"

    @property
    def trees(self) -> list[Path]:
        """Checkouts that are left."""
        return list((self.folder / "work").glob("*/trees/*"))

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.repo, check=True, capture_output=True, text=True).stdout.strip()

    def make_repo(self, files: Mapping[str, str] = FILES) -> None:
        self.repo.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Someone")
        self.git("config", "user.email", "someone@example.org")
        self.commit(files)

    def commit(self, files: Mapping[str, str]) -> None:
        for name, content in files.items():
            path = self.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A state")

    def harness(self, name: str, program: str, **table: Any) -> None:
        """Make a harness of a Python program; it notes each start in `starts`, and says that it cost 10 cents."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"#!{sys.executable}\nimport sys\nif sys.argv[1:] == ['--version']: sys.exit(print('{name} 1.2.3'))\n"
            f"import json, os, pathlib, subprocess, time\n"
            f"try: open({str(self.folder / 'starts')!r}, 'a').write('{name} ' + os.getcwd() + '\\n')\n"
            f"except OSError: pass  # in a sandbox\n"
            f"def say(**event): print(json.dumps(event), flush=True)\n"
            f"say(type='usage', cost=0.10)\n{program}\nsay(type='done')\n"
        )
        path.chmod(0o755)
        read = {"dollars": "cost", "finished": {"type": "done"}, "failed": {"type": "failed"}, "error": "message"}
        given = {"name": name, "command": [str(path), "{model}", "{prompt}"], **table}
        lines = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
        lines += ["[read]", *(f"{key} = {_toml(value)}" for key, value in read.items())]
        toml = self.folder / f"{name}.toml"
        toml.write_text("\n".join(lines) + "\n")
        self.harnesses.append(toml)
        self.routes.append(f"{name}:model-{name}")

    def evidence(self, **scores: float) -> None:
        """Let the store know how harnesses did on other tasks: `evidence(weak=0.9)`. Without it, nothing is known."""
        with OutcomeStore(self.url) as store:
            store.add(
                Outcome(
                    Task(f"old-{i}", text=f"old task {i}"), Route(f"model-{name}", name), float(i < 10 * s), cost=0.1
                )
                for name, s in scores.items()
                for i in range(10)
            )

    def command(self, *arguments: object) -> list[str]:
        pool = self.folder / "pool.toml"
        pool.write_text(f"routes = {json.dumps(self.routes)}\n")
        harnesses = [word for path in self.harnesses for word in ("--harness", str(path))]
        return [
            str(COMMAND), "run", *map(str, arguments), *harnesses, "--pool", str(pool), "--store", self.url,
            "--work", str(self.folder / "work"), "--history", self.history,
        ]  # fmt: skip

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HMROUTER_", "GIT_"))}
        return {**kept, "OMP_NUM_THREADS": "1", "COLUMNS": "100", "HOME": str(self.folder), **extra}

    def run(self, *arguments: object, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run `hmrouter run` in the repository."""
        return subprocess.run(
            self.command(*arguments), cwd=self.repo, env=self.environment(**extra), capture_output=True, text=True,
            timeout=600,
        )  # fmt: skip

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments), cwd=self.repo, env=self.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def starts(self) -> list[str]:
        """The harnesses that were started, in order."""
        log = self.folder / "starts"
        return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []

    def outcomes(self) -> list[Outcome]:
        """Outcomes of runs, by attempt."""
        with OutcomeStore(self.url) as store:
            return sorted((o for o in store.outcomes() if o.source == "hmrouter"), key=lambda o: (o.run, o.trial))

    def processes(self) -> list[int]:
        """Processes that carry the mark of an attempt in this world."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    environ = (entry / "environ").read_bytes()
                    state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                except OSError:
                    continue
                if f"{MARK}={self.folder}".encode() in environ and state not in "ZX":
                    found.append(int(entry.name))
        return found


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {json.dumps(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


@pytest.fixture
def bare(tmp_path: Path) -> World:
    """A world without a repository."""
    return World(tmp_path.resolve())


@pytest.fixture
def world(bare: World) -> Iterator[World]:
    """A world with a repository; nothing may be left of its runs."""
    bare.make_repo()
    yield bare
    assert bare.processes() == []


@pytest.fixture
def world_elsewhere() -> Iterator[World]:
    """A world that is not below /tmp, which a sandbox has one of its own of."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        world = World(Path(folder).resolve())
        world.make_repo()
        yield world


Say = Callable[[subprocess.CompletedProcess[str]], str]


@pytest.fixture
def error_of() -> Say:
    """The one line of an error."""

    def of(done: subprocess.CompletedProcess[str]) -> str:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert done.returncode in (1, 2), done.stderr
        assert len(lines) == 1, done.stderr
        assert "Traceback" not in done.stderr
        return lines[0].removeprefix("error: ")

    return of
