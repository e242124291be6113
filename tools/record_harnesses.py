"""Record what each installed harness prints and leaves, in a good run and in one with an API error.

    python tools/record_harnesses.py [HARNESS]    # writes tests/run/recordings

Recordings are made by real runs against the stand-in (`tools/harnesses.py` installs the harnesses). Folders of this
machine are taken out, and long texts cut: prompts and menus belong to the harness's maker, and no driver reads them.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harnesses import MODELS, PLACE, ROOT, drivers, environment, prepare, run, say
from hmrouter.run.stand_in import Behaviour, StandIn

RECORDINGS = ROOT / "tests" / "run" / "recordings"
LEFT_OUT = ("availableCommands", "configOptions", "tools", "slash_commands", "skills", "agents")
"""Keys of menus."""
LINES_FOR_PEOPLE = 30


def record(wanted: str = "") -> None:
    """Record a good run and a failing one of each harness."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        StandIn({m: Behaviour.parse(b) for m, b in MODELS.items()}) as models,
    ):
        home = Path(scratch, "home")
        for name, driver in drivers(environment(models, home)).items():
            if wanted not in ("", name):
                continue
            prepare(driver, home, models)
            good = "claude-sonnet-4-5" if name == "claude-code" else "gpt-5"
            cases: dict[str, tuple[str, dict[str, float]]] = {"good": (good, {}), "error": ("fake-error", {})}
            if name == "claude-code":
                cases |= {"cap": (good, {"max_dollars": 0.0001}), "busy": ("fake-busy", {"max_seconds": 8.0})}
            for case, (model, limits) in cases.items():
                folder = Path(scratch, name, case)
                result = run(driver, model, folder, **limits)
                written = (folder / "work" / "hello.txt").exists()
                say(f"{name} {case}: {result}, file written: {written}")
                _keep(folder, home, RECORDINGS / name / case, scratch)


def _keep(folder: Path, home: Path, place: Path, scratch: str) -> None:
    """Keep what a driver reads, with this machine's folders taken out and long texts cut."""
    shutil.rmtree(place, ignore_errors=True)
    left = [p for p in (folder / "output").rglob("*") if p.is_file() and p.suffix in (".log", ".json")]
    logs = list(home.glob(".copilot/session-state/*/events.jsonl")) if place.parent.name == "copilot-cli" else []
    for source, base in [*((p, folder / "output") for p in left), *((p, home / ".copilot") for p in logs)]:
        if "events/" in str(source.relative_to(base)) or source.stat().st_size == 0:
            continue
        target = place / source.relative_to(base)
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = source.read_text(errors="replace").replace(scratch, "/scratch").replace(str(PLACE), "/harnesses")
        if source.suffix == ".json":
            target.write_text(json.dumps(_cut(json.loads(lines)), indent=1) + "\n")
        else:
            target.write_text("".join(f"{line}\n" for line in _cut_lines(lines.splitlines())))
    for log in logs:
        shutil.rmtree(log.parent)


def _cut_lines(lines: list[str]) -> Iterator[str]:
    """Events whole but for long texts; of lines for people the first few."""
    room = LINES_FOR_PEOPLE
    for line in lines:
        try:
            yield json.dumps(_cut(json.loads(line)))
        except ValueError:
            room -= 1
            if room >= 0:
                yield line[:300]


def _cut(value: object) -> object:
    """Cut texts and lists that no driver reads: prompts and menus of the harness's maker."""
    if isinstance(value, str):
        return value if len(value) <= 300 else f"{value[:100]}[...]"
    if isinstance(value, list):
        return [_cut(item) for item in value[:12]]
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items() if key not in LEFT_OUT}
    return value


if __name__ == "__main__":
    record(*sys.argv[1:])
