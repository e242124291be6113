"""`hmrouter import`: execution logs into the store."""

from __future__ import annotations

import os
import re
import uuid
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.completion import FORMATS, formats
from hmrouter.cli.import_changes import ask_to_replace, change_lines
from hmrouter.cli.import_summary import ImportReport, LogReport
from hmrouter.cli.names import NamesFile
from hmrouter.cli.output import DEFAULT_STORE, Json, Store, echo, print_json, say
from hmrouter.cli.probe import ORDERS
from hmrouter.cli.refused_rows import RefusedRows
from hmrouter.errors import LogError, UsageError

if TYPE_CHECKING:
    from hmrouter.features.base import Embedder

PLACES = 5
"""How many places of refused records are shown per reason."""


def _path(text: str) -> Path:
    if not text:  # Python would take it for the current folder
        raise UsageError("a path is empty; give a log, a folder or an archive")
    return Path(text)


def import_logs(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Logs, folders of logs, archives; benchmark directories.", parser=_path, metavar="PATHS..."
        ),
    ],
    format: Annotated[
        str, typer.Option("--format", help=f"auto, or one of: {', '.join(FORMATS)}.", autocompletion=formats)
    ] = "auto",
    suite: Annotated[str | None, typer.Option("--suite", help="Suite of outcomes whose log names none.")] = None,
    columns: Annotated[
        str, typer.Option("--map", help="Columns with names of their own: task=instance_id,score=resolved.")
    ] = "",
    family: Annotated[
        str | None,
        typer.Option("--family", help="Column, or key of a task's meta, that names what tasks are variants of."),
    ] = None,
    aliases: NamesFile = None,
    model: Annotated[str | None, typer.Option("--model", help="The model of logs that do not name it.")] = None,
    harness: Annotated[str | None, typer.Option("--harness", help="The harness of logs that do not name it.")] = None,
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", help="Finds `(?P<model>...)` and `(?P<harness>...)` in the name of such a log."),
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", help="The run of logs that do not name it: other executions of known tasks.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Outcomes known with other values take those of the log; asks first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before --replace.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be imported.")] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave bad records out instead of refusing their log.")
    ] = False,
    refused: Annotated[
        Path, typer.Option("--refused", help="Where --skip-bad writes the records that it leaves out.")
    ] = Path("refused.jsonl"),
    no_text: Annotated[bool, typer.Option("--no-text", help="Keep the hashes of task texts, never the texts.")] = False,
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="Compute the vectors of the texts now and keep them.")
    ] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Read execution logs and add their outcomes to the store.

    What each path holds is recognised by its content; folders and archives are searched. Importing the same log again
    adds nothing, also when it was renamed or other names are given; one that has grown adds what is new. A log is taken
    whole or not at all: one with a bad record is refused, with the line numbers, and the others go on. `hmrouter store
    undo` takes the last import back.

    Example: `hmrouter import jobs/ runs.csv.gz --dry-run`
    Example: `hmrouter import runs.csv --map task=instance_id,score=resolved`
    """
    from hmrouter.cli.import_job import ImportJob, Manner
    from hmrouter.cli.stored_names import names_of
    from hmrouter.logs import Request, check_suite
    from hmrouter.logs.fields import check_mapping
    from hmrouter.names import Names
    from hmrouter.store import Import, OutcomeStore

    request = Request(
        suite, Names.from_toml(aliases) if aliases else names_of(store), _mapping(columns),
        model=model, harness=harness, run=run, family=family, pattern=_compiled(pattern),
    )  # fmt: skip
    check_mapping(request.mapping)
    for path in paths:
        with suppress(LogError):  # told when the path is read
            check_suite(path, suite, format, request.mapping)
    vectors = _embedder(embedder) if embedder is not None else None
    report = ImportReport(request.names, request.notes, dry_run)
    manner = Manner(dry_run, skip_bad, keep_text=not no_text, replace=replace, names_given=aliases is not None)
    this = Import(uuid.uuid4().hex, " ".join(map(str, paths)))
    with OutcomeStore(store) as kept, RefusedRows(None if dry_run or not skip_bad else refused) as rows:
        if replace and not yes and not dry_run:
            ask_to_replace(kept, paths, format, request, manner)
        job = ImportJob(kept, rows, request, manner, this, embedder=vectors)
        for path in paths:
            with closing(job.run(path, format)) as logs:
                for log in logs:
                    report.logs.append(log)
                    _tell(log, as_json)
        report.refused_file = rows.finish()
        if report.imported and not dry_run:
            report.store = kept.summary()
    for remark in report.remarks() if report.imported else ():
        say(remark)
    if as_json:
        print_json("import", report.to_dict())
    else:
        for line in report.lines():
            echo(line)
        if no_text and vectors is None and report.store is not None:
            say("note: neither texts nor vectors are kept, so a router learns routes, not tasks; see --embedder")
        if any(log.added and log.added.new for log in report.imported) and not dry_run:
            found = store in (DEFAULT_STORE, os.environ.get("HMROUTER_STORE"))  # by the next command, too
            address = "" if found else f" --store {kept}"
            echo(f"Next: hmrouter train{address}")
            if ORDERS.exists():
                echo(f"Of the runs that hmrouter probe suggested: hmrouter probe status{address}")
    if report.refused:
        if len(report.logs) > 1:
            say(f"error: {len(report.refused):,} of {len(report.logs):,} logs were refused")
        raise typer.Exit(1)


def _embedder(name: str) -> Embedder:
    from hmrouter.features.base import embedder_named

    embedder = embedder_named(name)
    if not embedder.cacheable:
        raise UsageError(
            f"embedder {name!r} has no vectors to keep at import: it is fitted on the texts when a router is trained, "
            "and without texts there is nothing to fit; use openai or sentence-transformers, or leave --embedder out"
        )
    return embedder


def _mapping(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    for field, equals, column in pairs:
        if not (field.strip() and equals and column.strip()):
            raise UsageError(f"--map {text!r} is not a mapping; write field=column,field=column")
    return {field.strip(): column.strip() for field, _, column in pairs}


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern {pattern!r} is not a regular expression: {error}") from None
    if not compiled.groupindex.keys() & {"model", "harness"}:
        raise UsageError(f"--pattern {pattern!r} finds nothing; it needs (?P<model>...) or (?P<harness>...) or both")
    return compiled


def _tell(log: LogReport, as_json: bool) -> None:
    if log.added is None:
        there = os.path.lexists(log.path) or not log.error.endswith("does not exist")
        say(f"error: {log.error}{'' if there else '; give a log, an archive or a folder of logs that is there'}")
    elif not as_json:
        echo(log.line())
        for line in change_lines(log.added) if log.added.replaced else ():
            echo(f"  {line}")
        for reason, n, places in log.reasons():
            echo(f"  refused {n:,}: {reason}{f' ({_places(places, n)})' if places else ''}")


def _places(places: list[str], n: int) -> str:
    return ", ".join(places[:PLACES]) + (" and more" if n > min(len(places), PLACES) else "")
