"""The real command line in a process of its own, and a folder with a small store and a router."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hmrouter.cli import main
from hmrouter.evidence.dataset import Dataset
from hmrouter.logs import read_logs
from hmrouter.router import Router
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Status, Task

COMMAND = Path(sys.executable).with_name("hmrouter")
Cli = Callable[..., "subprocess.CompletedProcess[str]"]

ROUTES = [("gpt-5", "codex"), ("gpt-5", "aider"), ("claude-opus-4-5", "codex"), ("claude-opus-4-5", "claude-code")]
"""`aider:claude-opus-4-5` and `claude-code:gpt-5` were never run."""


def environment(**extra: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HMROUTER_")}
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100", **extra}


def run(folder: Path, *arguments: object, env: dict[str, str] | None = None, **more: Any) -> Any:
    command = [str(COMMAND), *map(str, arguments)]
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 600} | more
    return subprocess.run(command, cwd=folder, env=environment(**(env or {})), **more)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `runs.csv` was imported and a router trained; copied, never written to."""
    folder = tmp_path_factory.mktemp("trained")
    rows = ["task,text,model,harness,score,cost"]
    for i in range(24):
        for j, (model, harness) in enumerate(ROUTES):
            text = f"Fix the {('login', 'parser', 'report')[i % 3]} of {hashlib.md5(b'%d' % i).hexdigest()}"
            rows.append(f"t{i},{text},{model},{harness},{int((i + j) % 3 > 0)},{0.1 * (j + 1):.2f}")
    (folder / "runs.csv").write_text("\n".join(rows) + "\n")
    with OutcomeStore(f"sqlite:///{folder / 'hmrouter.db'}") as store:
        store.add(read_logs(folder / "runs.csv"))
        Router("knn").fit(Dataset(store.outcomes()), cache=store).save(folder / "router.hmr")
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    """A copy of the trained folder, to work in."""
    for name in ("runs.csv", "hmrouter.db", "router.hmr"):
        shutil.copy(trained / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run `hmrouter` in the test's folder: `cli("route", "Fix it", "--json")`."""

    def start(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = run(tmp_path, *arguments, **more)
        return done

    return start


class Session(NamedTuple):
    """What came of a command at a terminal."""

    code: int
    screen: str
    """What the terminal received."""
    stdout: str
    stderr: str
    """What the streams that are not at the terminal received."""


@pytest.fixture
def terminal(tmp_path: Path) -> Callable[..., Session]:
    """Run `hmrouter` with some of its streams at a terminal: `terminal("train", at=["stderr"])`."""

    def start(*arguments: object, at: Collection[str], typed: str = "", columns: int = 100, **settings: str) -> Session:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        kept = {name: value for name, value in environment(**settings).items() if name not in ("COLUMNS", "LINES")}
        streams: Any = {name: theirs if name in at else subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        process = subprocess.Popen(
            [str(COMMAND), *map(str, arguments)], cwd=tmp_path, env={**kept, "TERM": "xterm"}, text=True, **streams
        )
        os.close(theirs)
        parts: list[bytes] = []
        # Read while it runs: a terminal's buffer is small, and a child that fills it waits for ever.
        reader = threading.Thread(target=lambda: parts.extend(until_closed(ours)))
        reader.start()
        os.write(ours, typed.encode())
        out, err = process.communicate(timeout=600)
        reader.join()
        os.close(ours)
        return Session(process.returncode, b"".join(parts).decode(), out or "", err or "")

    return start


def until_closed(terminal: int) -> Iterator[bytes]:
    """What arrives at a terminal until nobody is left to write to it."""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            return
        if not part:
            return
        yield part


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """The same within this process: what a new process would not change, in a fraction of the time."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("HMROUTER_")]:
        monkeypatch.delenv(name)

    def start(*arguments: object, input: str | bytes | None = None) -> subprocess.CompletedProcess[str]:
        given = input.encode() if isinstance(input, str) else input or b""
        command = ["hmrouter", *map(str, arguments)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", command)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
            with pytest.raises(SystemExit) as ended:
                main()
        code = ended.value.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(command, code, *capfd.readouterr())

    return start


@pytest.fixture
def refused(cli: Cli, inside: Cli) -> Callable[..., str]:
    """The one line with which a command refuses; exit code 1 unless told, in this process unless told."""

    def start(*arguments: object, code: int = 1, outside: bool = False, **more: Any) -> str:
        done = (cli if outside else inside)(*arguments, **more)
        assert done.returncode == code, done.stderr
        assert done.stdout == "" or "--json" in arguments  # then the error is a document there, too
        assert done.stderr.startswith("error: ")
        assert done.stderr.endswith("\n")
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr.strip()

    return start


@pytest.fixture
def unchanged(folder: Path) -> Callable[[], AbstractContextManager[None]]:
    """`with unchanged():` the store keeps its rows and its bytes, the router its bytes, and nothing is left behind."""

    def look() -> tuple[Any, ...]:
        with OutcomeStore(f"sqlite:///{folder / 'hmrouter.db'}", create=False) as store:
            rows = list(store.outcomes())
        files = sorted(path.name for path in folder.iterdir())
        return rows, files, (folder / "hmrouter.db").read_bytes(), (folder / "router.hmr").read_bytes()

    @contextmanager
    def watch() -> Iterator[None]:
        before = look()
        assert len(before[0]) == 96
        yield
        assert look() == before

    return watch


START = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
TEXTS = ('Say "hi",\r\nthen\rleave\n', " spaces ", "修复 🚀", "", "=1+1", "a;b\tc", "\u2028line", "-")


def some_outcomes() -> list[Outcome]:
    """Every field, full and empty, in two suites and two runs."""
    out = []
    for i, text in enumerate(TEXTS):
        meta: dict[str, Any] = {"depth": [i, None, {"ö": 1e-300}]} if i % 2 else {}
        task = Task(f"t {i}", ("one", "two,three")[i % 2], text, meta)
        for j, route in enumerate((Route("gpt-5", "codex"), Route("qwen-3:8b", "claude-code"))):
            full = (i + j) % 2 == 0
            out.append(
                Outcome(
                    task, route, (1 / 3, 1.0)[j] if full else None, n_trials=j + i,
                    status=Status.OK if full else (Status.INFRA_ERROR, Status.UNKNOWN)[j],
                    cost=0.1 + 0.2 if full else None, cost_is_route_mean=full, token_cost=1e-9 if full else None,
                    input_tokens=2**53 + 1 if full else None, cached_tokens=0 if full else None,
                    output_tokens=7 if full else None, seconds=0.0 if full else None,
                    when=START + timedelta(days=i) if full else None, source="jobs", run=f"r{i % 3}", trial=f"{j}",
                    model_version="gpt-5-2025-08-07" if full else "", harness_version="1.2" if full else "",
                    dataset_version="verified@1" if full else "",
                )
            )  # fmt: skip
    return out


@pytest.fixture
def store(tmp_path: Path) -> OutcomeStore:
    """A store of `some_outcomes` in the test's folder."""
    store = OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}")
    with store:
        store.add(some_outcomes())
    return store
