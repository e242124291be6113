"""CPU seconds of ten commands, now and before the core became lighter, beside those of `python -c "import numpy"`.

`python -m benchmarks.commands` prints the table of seconds. The version before is taken from the history of this
repository, and all run in turn, so that what else the machine does hits each of them alike.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.history import ROOT, source_of
from benchmarks.ratio import Ratio

BEFORE = "ec89add"
"""The version before the core became lighter."""
ROUNDS = 7
TASK = "Fix the failing CI job of the parser"
MAIN = "import sys; sys.argv[0] = 'hmrouter'; from hmrouter.cli import main; main()"
COMMANDS: dict[str, tuple[str, ...]] = {
    "version": ("--version",),
    "help": ("--help",),
    "route_help": ("route", "--help"),
    "completion": (),
    "import": ("import", "runs.csv"),
    "train": ("train", "--out", "again.hmr"),
    "route": ("route", TASK),
    "route_json": ("route", TASK, "--json"),
    "plan": ("plan", TASK, "--budget", "2"),
    "probe": ("probe", "--runs", "3", "--orders", "orders.jsonl"),
    "explain": ("explain", "decision.json"),
    "store_status": ("store", "status"),
}
"""What is typed; a Tab after `hmrouter ro` types nothing, it asks by the environment."""
TAB = {"_HMROUTER_COMPLETE": "complete_bash", "COMP_WORDS": "hmrouter ro", "COMP_CWORD": "1"}
AT_MOST = {"route": 4.0, "route_json": 4.0}


class Seconds(NamedTuple):
    """Medians of one command."""

    now: float
    before: float
    numpy: float


def against_numpy_and_before() -> Iterator[Ratio]:
    """Give how many times `import numpy` each command takes; in words, how many times it took before."""
    for name, seconds in measured().items():
        what = f"hmrouter {' '.join(COMMANDS[name])[:30]} / import numpy; before: {seconds.before / seconds.numpy:.2f}"
        yield Ratio(f"{name}_vs_numpy", seconds.now / seconds.numpy, what, at_most=AT_MOST.get(name))


def measured() -> dict[str, Seconds]:
    """Measure each command in turn with both versions, each with a store and a router of its own."""
    with ExitStack() as stack:
        sources = {"now": ROOT / "src", "before": stack.enter_context(source_of(BEFORE))}
        places = {name: Path(stack.enter_context(TemporaryDirectory())) for name in sources}
        for name, source in sources.items():
            _prepare(places[name], source)
        found: dict[str, list[Seconds]] = {name: [] for name in COMMANDS}
        for number in range(ROUNDS + 1):  # the first round compiles what is not compiled yet
            for name, typed in COMMANDS.items():
                now, before = (_seconds(typed, places[which], sources[which]) for which in ("now", "before"))
                if number:
                    found[name].append(Seconds(now, before, _of_child(["-c", "import numpy"], places["now"], {})))
    return {name: Seconds(*map(median, zip(*rounds, strict=True))) for name, rounds in found.items()}


def _prepare(folder: Path, source: Path) -> None:
    """Import outcomes of 60 tasks on six routes, train, and keep a decision."""
    rows = ["task,text,model,harness,score,cost"]
    models, harnesses = ("claude-opus-4-5", "gpt-5", "gemini-2.5-pro"), ("claude-code", "codex")
    words = ["parser", "billing", "report", "login", "search", "upload", "cache", "mail"]
    for i in range(60):
        text = f"Fix the {words[i % 8]} of the {words[i // 8 % 8]} service and add test {i}"
        rows += [
            f"t{i},{text},{m},{h},{int((3 * i + 5 * j + k) % 7 > 2)},{0.1 + 0.05 * j + 0.01 * k:.2f}"
            for j, m in enumerate(models)
            for k, h in enumerate(harnesses)
        ]
    (folder / "runs.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for typed in (("import", "runs.csv"), ("train",)):
        subprocess.run(
            [sys.executable, "-c", MAIN, *typed], cwd=folder, env=_environment(source), check=True, capture_output=True
        )
    with (folder / "decision.json").open("wb") as file:
        command = [sys.executable, "-c", MAIN, "route", TASK, "--json"]
        subprocess.run(command, cwd=folder, env=_environment(source), check=True, stdout=file)


def _seconds(typed: tuple[str, ...], folder: Path, source: Path) -> float:
    return _of_child(["-c", MAIN, *typed], folder, _environment(source) | ({} if typed else TAB))


def _of_child(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> float:
    """CPU seconds of a whole process."""
    (folder / "orders.jsonl").unlink(missing_ok=True)
    before = getrusage(RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=_environment() | dict(environment), capture_output=True)
    after = getrusage(RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{arguments} failed: {done.stderr.decode()[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _environment(source: Path | None = None) -> dict[str, str]:
    """One thread, compiled files as an installed package has them, nothing of the caller's own settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HMROUTER_") and k != "PYTHONDONTWRITEBYTECODE"}
    kept |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return kept if source is None else kept | {"PYTHONPATH": str(source)}


def main() -> None:
    """Print the table of seconds."""
    table = Table("command", "before, s", "now, s", "import numpy, s", "before / numpy", "now / numpy")
    for name, s in measured().items():
        cells = (f"{value:.3f}" for value in (s.before, s.now, s.numpy))
        table.add_row(
            " ".join(COMMANDS[name]) or "(a Tab)", *cells, f"{s.before / s.numpy:.1f}", f"{s.now / s.numpy:.1f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
