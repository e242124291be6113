"""`hmrouter import`: execution logs into the store."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmrouter.cli.output import DEFAULT_STORE, Json, Store, print_json, progress, say
from hmrouter.errors import UsageError

if TYPE_CHECKING:
    from hmrouter.logs import Notes
    from hmrouter.names import Names


def import_logs(
    paths: Annotated[
        list[Path], typer.Argument(help="Files, benchmark directories, or folders of benchmark directories.")
    ],
    format: Annotated[
        str, typer.Option("--format", help="auto, or a format's name: benchmark, csv, jsonl, parquet.")
    ] = "auto",
    suite: Annotated[str | None, typer.Option("--suite", help="Suite of outcomes whose log names none.")] = None,
    columns: Annotated[
        str, typer.Option("--map", help="Columns with names of their own: task=instance_id,score=resolved.")
    ] = "",
    aliases: Annotated[
        Path | None, typer.Option("--names", help="TOML file with your own names of models and harnesses.")
    ] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Read execution logs and add their outcomes to the store.

    Importing the same file again adds nothing. A file is taken whole or not at all: the first row that cannot be
    read refuses the file, with its line number.
    """
    from hmrouter.logs import Notes, benchmark_directories, read_logs
    from hmrouter.names import Names
    from hmrouter.store import OutcomeStore

    names, notes, rows = Names.from_toml(aliases) if aliases else Names(), Notes(), []
    mapping = _mapping(columns)
    with OutcomeStore(store) as kept:
        for path in paths:
            # Each benchmark of a folder is an import of its own: one that is refused does not undo the others.
            for part in (os.path.isdir(path) and benchmark_directories(path, notes)) or [path]:
                outcomes = read_logs(part, format, suite, names, mapping=mapping, notes=notes)
                with progress(f"importing {part.name}", "outcomes") as show:
                    total = [0]

                    def count(n: int, total: list[int] = total, show: Any = show) -> None:
                        total[0] += n
                        show(total[0], None)

                    added = kept.add(outcomes, progress=count)
                rows.append({"path": str(part), "outcomes": added.new + added.known, "new": added.new})
                if not as_json:
                    known = f", {added.known:,} known already" if added.known else ""
                    typer.echo(f"{part}: {added.new + added.known:,} outcomes, {added.new:,} new{known}")
        summary = kept.summary()
    _tell(names, notes)
    if as_json:
        unknown = {"models": sorted(names.unknown_models), "harnesses": sorted(names.unknown_harnesses)}
        print_json({"imported": rows, "store": _summary(summary), "unknown_names": unknown})
        return
    typer.echo(
        f"The store holds {summary.outcomes:,} outcomes of {summary.tasks:,} tasks on {summary.routes:,} routes "
        f"in {len(summary.suites)} suite{'s' if len(summary.suites) != 1 else ''}."
    )


def _mapping(text: str) -> dict[str, str] | None:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    for field, equals, column in pairs:
        if not (field.strip() and equals and column.strip()):
            raise UsageError(f"--map {text!r} is not a mapping; write field=column,field=column")
    return {field.strip(): column.strip() for field, _, column in pairs} or None


def _tell(names: Names, notes: Notes) -> None:
    """What is no error, but should not go by unseen."""
    for kind, unknown in (("models", names.unknown_models), ("harnesses", names.unknown_harnesses)):
        if unknown:
            say(f"note: {kind} not in the table of known names, kept as they are: {_some(unknown)}")
    for file, columns in notes.ignored_columns.items():
        say(f"note: {file}: columns not used: {_some(columns)}")
    if notes.skipped:
        say(f"note: no benchmark directories, so not read: {_some(notes.skipped)}")
    if notes.without_query:
        say(f"note: {notes.without_query:,} outcomes have no text in their queries.jsonl")


def _some(found: Iterable[str]) -> str:
    items = sorted(found)
    return ", ".join(items[:8]) + (f" and {len(items) - 8} more" if len(items) > 8 else "")


def _summary(summary: Any) -> dict[str, Any]:
    return {
        "outcomes": summary.outcomes, "tasks": summary.tasks, "routes": summary.routes,
        "suites": dict(summary.suites), "statuses": {str(k): v for k, v in summary.statuses.items()},
    }  # fmt: skip
