"""`hmrouter store`: show what the store holds, export it, and forget parts of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmrouter.cli.import_summary import store_dict, store_lines
from hmrouter.cli.output import DEFAULT_STORE, Json, Store, console, echo, percent, print_json, say, table
from hmrouter.cli.words import counted
from hmrouter.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from hmrouter.store import ImportInfo, RunInfo, SuiteSettings, Summary

app = typer.Typer(
    no_args_is_help=True,
    help="What the store holds, an export of it, and forgetting.\n\n"
    "Example: hmrouter store status\nExample: hmrouter store export backup.jsonl.gz",
)

SHOWN_SUITES, SHOWN_RUNS = 4, 5
"""The most suites and runs that are shown unless all are asked for, so that the rest stays on the screen."""


class Format(StrEnum):
    """Formats of an export that no file ending names."""

    BENCHMARK = "benchmark"


@app.command()
def status(
    store: Store = DEFAULT_STORE,
    all_of_it: Annotated[bool, typer.Option("--all", help="Every suite and every run.")] = False,
    as_json: Json = False,
) -> None:
    """Show what the store holds: outcomes, suites with their settings, and the runs that they came from.

    One screen of it: the largest suites and the newest runs, unless `--all` is given.

    Example: `hmrouter store status --store sqlite:///runs.db`
    Example: `hmrouter store status --all`
    """
    from hmrouter.store import OutcomeStore

    with OutcomeStore(store, create=False) as kept:
        summary, settings, runs = kept.summary(), kept.suite_settings(), kept.runs()
    if as_json:
        print_json("store-status", {
            "store": str(kept), **store_dict(summary), "runs": [_run_dict(run) for run in runs],
            "settings": {suite: _settings_dict(s) for suite, s in settings.items()},
        })  # fmt: skip
        return
    echo(f"{kept}, {_size(summary.bytes)}")
    for line in (*store_lines(summary), *_more_lines(summary)):
        echo(line)
    names = sorted({*summary.suites, *settings})
    shown = names if all_of_it else sorted(names, key=lambda suite: -summary.suites.get(suite, 0))[:SHOWN_SUITES]
    suites = table(_title("Suites", len(names), len(shown)), "suite", "outcomes", "half-life", "texts kept for")
    for suite in shown:
        own = settings.get(suite)
        half_life, text_days = (own.half_life_days, own.text_days) if own else (None, None)
        suites.add_row(
            suite, f"{summary.suites.get(suite, 0):,}",
            "off" if half_life is None else f"{half_life:g} days",
            "ever" if text_days is None else f"{text_days:g} days",
        )  # fmt: skip
    console().print(suites)
    newest = sorted(runs, key=lambda run: run.added.timestamp() if run.added else 0.0, reverse=True)[:SHOWN_RUNS]
    console().print(_runs_table(runs if all_of_it else newest, len(runs)))


@app.command()
def export(
    out: Annotated[
        str,
        typer.Argument(
            help="FILE.jsonl or FILE.csv, .gz behind it to compress; - writes JSON lines; a new folder for benchmark."
        ),
    ],
    suite: Annotated[str | None, typer.Option("--suite", help="Only this suite.")] = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="benchmark: a directory per suite, for `hmrouter bench`.")
    ] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Write the outcomes to one file that `hmrouter import` reads back as they were.

    Names are written as they were imported: merges are settings of the store and not part of its outcomes.

    With `--format benchmark` they become benchmark directories, one per suite in a new folder, for `hmrouter bench run`
    to compare methods on: as `hmrouter train` sees them, with merges, and with costs from tokens if none is reported.

    Example: `hmrouter store export backup.jsonl.gz`
    Example: `hmrouter store export comparison --format benchmark`
    """
    if form is Format.BENCHMARK:
        from hmrouter.cli.store_benchmarks import export_benchmarks

        export_benchmarks(out, suite, store, as_json)
    else:
        from hmrouter.cli.store_export import export_file

        export_file(out, suite, store, as_json)


@app.command()
def forget(
    run: Annotated[str, typer.Argument(help="The run, as `hmrouter store status` shows it.")],
    source: Annotated[str | None, typer.Option("--source", help="Of this source, where several have the run.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Remove the outcomes of a run, and the tasks, routes and vectors that nothing else uses.

    Example: `hmrouter store forget 2f1c9e --source jobs --yes`
    Example: `hmrouter store forget 2f1c9e`
    """
    from hmrouter.store import OutcomeStore

    with OutcomeStore(store, create=False) as kept:
        found = [r for r in kept.runs() if r.run == run and source in (None, r.source)]
        if len(found) == 1 and not yes:
            _ask(_in_words(found[0]), "forget", "forgotten")
        gone = kept.forget(run, source)  # refuses, with what there is, where not exactly one was found
    if as_json:
        print_json("store-forget", {"run": run, "outcomes": gone.outcomes, "tasks": gone.tasks, "routes": gone.routes})
        return
    echo(
        f"Forgot run {run}: {counted(gone.outcomes, 'outcome')}, {counted(gone.tasks, 'task')} and "
        f"{counted(gone.routes, 'route')} that nothing else uses. `hmrouter store vacuum` gives the room back."
    )


@app.command()
def undo(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Take the last import back: the outcomes that it added go, those that it replaced are as they were.

    Example: `hmrouter store undo`
    Example: `hmrouter store undo --yes`
    """
    from hmrouter.store import OutcomeStore

    with OutcomeStore(store, create=False) as kept:
        if (last := kept.last_import()) is not None and not yes:
            _ask(_import_in_words(last), "undo", "undone")
        done = kept.undo()  # refuses where there is none
    if as_json:
        print_json("store-undo", {
            "import": done.undone.what, "outcomes": done.undone.outcomes, "restored": done.undone.replaced,
            "tasks": done.tasks, "routes": done.routes,
        })  # fmt: skip
        return
    echo(
        f"Undid the {_import_in_words(done.undone)}. {counted(done.tasks, 'task')} and {counted(done.routes, 'route')} "
        "went with it."
    )


@app.command()
def vacuum(store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """Give the room of what was forgotten back to the disk.

    Example: `hmrouter store vacuum`
    Example: `hmrouter store vacuum --store sqlite:///runs.db`
    """
    from hmrouter.store import OutcomeStore

    with OutcomeStore(store, create=False) as kept:
        before, after = kept.vacuum()
    if as_json:
        print_json("store-vacuum", {"store": str(kept), "bytes_before": before, "bytes_after": after})
        return
    echo(f"{kept}: {_size(before)} before, {_size(after)} now.")


@app.command("set")
def set_suite(
    suite: Annotated[str, typer.Argument(help="The suite.")],
    half_life: Annotated[
        str | None, typer.Option("--half-life", help="Days after which an outcome counts half, or off.")
    ] = None,
    text_days: Annotated[
        str | None, typer.Option("--text-days", help="Days after which task texts are dropped, or off.")
    ] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Let the evidence of a suite fade with age, or its task texts go after some days. Both are off by default.

    Example: `hmrouter store set our-repo --half-life 90 --text-days 30`
    Example: `hmrouter store set our-repo --half-life off`
    """
    from hmrouter.store import OutcomeStore, SuiteSettings

    given = {
        name: _days(option, text)
        for name, option, text in (
            ("half_life_days", "--half-life", half_life),
            ("text_days", "--text-days", text_days),
        )
        if text is not None
    }
    if not given:
        raise UsageError("nothing to set; give --half-life DAYS or --text-days DAYS, or off to switch one off")
    with OutcomeStore(store, create=False) as kept:
        kept.set_suite(suite, **given)
        settings = kept.suite_settings().get(suite, SuiteSettings())
    if as_json:
        print_json("store-set", {"suite": suite, **_settings_dict(settings)})
        return
    half, texts = settings.half_life_days, settings.text_days
    echo(
        f"Suite {suite!r}: {'outcomes do not fade' if half is None else f'outcomes count half after {half:g} days'}, "
        f"texts are kept {'for ever' if texts is None else f'for {texts:g} days'}."
    )


@app.command("drop-texts")
def drop_texts(
    older_than: Annotated[float, typer.Option("--older-than", help="Days since the task came in; 0 for all.")],
    suite: Annotated[str | None, typer.Option("--suite", help="Only this suite.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Remove task texts from the store; they do not come back. Hashes stay, and so do vectors that are cached.

    Example: `hmrouter store drop-texts --older-than 30 --yes`
    Example: `hmrouter store drop-texts --older-than 0 --suite our-repo`
    """
    from hmrouter.store import OutcomeStore

    days = _age("--older-than", older_than)
    with OutcomeStore(store, create=False) as kept:
        if not yes and (suite is None or suite in kept.suites()):  # else the store refuses, with what there is
            age = f" that came in {days:g} days ago or earlier" if days else ""
            where = "" if suite is None else f" of suite {suite}"
            _ask(
                f"the texts of all tasks{where}{age}; {kept} holds {counted(kept.summary().texts, 'text')}",
                "drop",
                "dropped",
            )
        dropped = kept.drop_texts(days, suite)
    if as_json:
        print_json("store-drop-texts", {"dropped": dropped})
        return
    echo(f"Dropped the texts of {counted(dropped, 'task')}.")


def _more_lines(summary: Summary) -> Iterator[str]:
    """Say what `status` shows beyond the summary of an import."""
    yield f"Texts: {summary.texts:,} of {counted(summary.tasks, 'task')}."
    if total := summary.outcomes:
        yield (
            f"Cost: {percent(summary.with_cost / total)}% reported, "
            f"{percent(summary.with_token_cost / total)}% recomputed from tokens."
        )
        yield f"Status: {', '.join(f'{n:,} {status}' for status, n in summary.statuses.items())}."
    if summary.first and summary.last:
        yield f"From {summary.first:%Y-%m-%d} to {summary.last:%Y-%m-%d}."


def _title(what: str, there: int, shown: int) -> str:
    return f"{what}: {shown:,} of {there:,}, the others with --all" if shown < there else what


def _runs_table(runs: list[RunInfo], there: int) -> Table:
    title, least = _title("Runs", there, len(runs)), ("first", "last", "routes")
    out = table(title, "source", "run", "suites", "outcomes", "routes", "first", "last", "added", least=least)
    for r in runs:
        days = (f"{when:%Y-%m-%d}" if when else "-" for when in (r.first, r.last, r.added))
        out.add_row(r.source or "-", r.run or "-", ", ".join(r.suites), f"{r.outcomes:,}", f"{r.routes:,}", *days)
    return out


def _run_dict(run: RunInfo) -> dict[str, Any]:
    return {
        "source": run.source, "run": run.run, "suites": list(run.suites), "outcomes": run.outcomes,
        "routes": run.routes, "first": _moment(run.first), "last": _moment(run.last), "added": _moment(run.added),
    }  # fmt: skip


def _settings_dict(settings: SuiteSettings) -> dict[str, Any]:
    return {"half_life_days": settings.half_life_days, "text_days": settings.text_days}


def _moment(when: datetime | None) -> str | None:
    return when.isoformat() if when else None


def _size(count: int) -> str:
    """Write a number of bytes for people.

    >>> _size(1536), _size(5 * 2**20)
    ('1.5 KiB', '5.0 MiB')
    """
    steps = min(max(count.bit_length() - 1, 10) // 10, 4)
    return f"{count / 1024**steps:.1f} {('KiB', 'MiB', 'GiB', 'TiB')[steps - 1]}"


def _in_words(run: RunInfo) -> str:
    return (
        f"run {run.run} of {run.source}: {counted(run.outcomes, 'outcome')} on {counted(run.routes, 'route')}, "
        f"suites: {', '.join(run.suites)}"
    )


def _import_in_words(what: ImportInfo) -> str:
    restored = f", {counted(what.replaced, 'outcome')} replaced" if what.replaced else ""
    return (
        f"import of {what.what} ({what.added:%Y-%m-%d %H:%M} UTC): {counted(what.outcomes, 'outcome')} added{restored}"
    )


def _ask(what: str, verb: str, done: str) -> None:
    """Show what would be removed and ask whether to go on; without a person to ask, refuse."""
    if not sys.stdin.isatty():
        raise UsageError(f"nobody is there to ask whether to {verb} {what}; give --yes")
    say(f"To be {done}: {what}")
    if not typer.confirm(f"{verb.capitalize()}?", err=True):
        raise typer.Exit(1)


def _days(option: str, text: str) -> float | None:
    """Read a number of days; None for `off`."""
    if text.strip().lower() == "off":
        return None
    try:
        days = float(text)
    except ValueError:
        raise UsageError(f"{option} {text!r} is neither a number of days nor off") from None
    if not days and option == "--half-life":
        raise UsageError("--half-life 0 would leave no evidence; give a number of days above 0, or off")
    return _age(option, days)


def _age(option: str, days: float) -> float:
    if not (days >= 0 and math.isfinite(days)):
        raise UsageError(f"{option} {days} is not a number of days of at least 0")
    return days
