"""`hmrouter names`: the models and harnesses in the store, which of them look alike, and counting two as one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.output import DEFAULT_STORE, Json, Store, console, echo, print_json, table
from hmrouter.cli.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from hmrouter.names import Names

app = typer.Typer(
    invoke_without_command=True,
    help="Models and harnesses in the store: how often, known or new, merged, alike.\n\n"
    "Example: hmrouter names\nExample: hmrouter names merge model kimi-2-5 kimi-k2-5",
)

NamesFile = Annotated[
    Path | None,
    typer.Option("--names", help="TOML file with your own names of models and harnesses.", envvar="HMROUTER_NAMES"),
]
SHOWN = 3
"""How many look-alikes and spellings a row of the table shows."""


class Kind(StrEnum):
    """The kinds of names: of models and of harnesses."""

    MODEL = "model"
    HARNESS = "harness"


Of = Annotated[Kind, typer.Argument(help="Whether the names are of models or of harnesses.")]


@dataclass(frozen=True, slots=True)
class NameRow:
    """One name in the store."""

    name: str
    outcomes: int
    known: bool
    """Whether a table of names has this name."""
    merged_into: str | None
    looks_like: list[str]
    """Names in the store, and for a new name also known ones, that may be the same thing; nearest first."""
    spelled: list[str]
    """How logs spell it otherwise."""


@app.callback()
def show(
    context: typer.Context, store: Store = DEFAULT_STORE, aliases: NamesFile = None, as_json: Json = False
) -> None:
    """Show the models and harnesses in the store: how often, known or new, merged into what, and what looks alike.

    Example: `hmrouter names --names our-names.toml`
    Example: `hmrouter names --json`
    """
    if context.invoked_subcommand is not None:
        return
    from hmrouter.names import Names
    from hmrouter.store import OutcomeStore

    names = Names.from_toml(aliases) if aliases else Names()
    with OutcomeStore(store, create=False) as kept:
        stored = kept.names()
        merges = kept.merges()
        spelled = kept.spellings()
    rows = {
        kind: name_rows(
            stored[kind], known_names(names, kind), {m.name: m.into for m in merges if m.kind == kind},
            [(each.name, each.spelling) for each in spelled if each.kind == kind],
        )
        for kind in Kind
    }  # fmt: skip
    if as_json:
        print_json("names", {
            "models": [asdict(row) for row in rows[Kind.MODEL]],
            "harnesses": [asdict(row) for row in rows[Kind.HARNESS]],
        })  # fmt: skip
        return
    out = console()
    out.print(_table("Models", rows[Kind.MODEL]))
    out.print(_table("Harnesses", rows[Kind.HARNESS]))
    if any(row.looks_like for kind in Kind for row in rows[kind]):
        echo("To count two as one: hmrouter names merge model|harness OLD NEW; it can be undone with split.")


@app.command("apply")
def apply_names(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="TOML file with your own names of models and harnesses.")],
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Read all that was ever imported by the names of a file, as if it had been given to every import.

    Example: `hmrouter names apply our-names.toml`
    Example: `hmrouter names apply our-names.toml --store sqlite:///runs.db`
    """
    from hmrouter.names import Names
    from hmrouter.store import OutcomeStore

    names = Names.from_toml(file)
    with OutcomeStore(_address(context, store), create=False) as kept:
        changes = kept.apply_names(names)
    if as_json:
        changed = [{"kind": n.kind, "spelling": n.spelling, "was": old.name, "name": n.name} for old, n in changes]
        print_json("names-apply", {"changed": changed})
        return
    for old, new in changes:
        echo(f"{new.kind.capitalize()} {new.spelling!r} was {old.name!r} and is {new.name!r} now.")
    echo("Next: hmrouter train" if changes else "Every name is as it was.")


@app.command()
def merge(
    context: typer.Context,
    kind: Of,
    old: Annotated[str, typer.Argument(help="The name to give up.")],
    new: Annotated[str, typer.Argument(help="The name to count its outcomes under.")],
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Count the outcomes of one name under another. The store's rows stay as they are: `split` undoes it.

    Example: `hmrouter names merge model kimi-2-5 kimi-k2-5`
    Example: `hmrouter names merge harness claudecode claude-code`
    """
    from hmrouter.store import OutcomeStore

    with OutcomeStore(_address(context, store), create=False) as kept:
        into = kept.merge(kind.value, old, new).into  # where the new name is merged itself, what that is merged into
        outcomes = kept.names()[kind.value].get(old, 0)
    if as_json:
        print_json("names-merge", {"kind": kind.value, "name": old, "merged_into": into, "outcomes": outcomes})
        return
    echo(
        f"{kind.capitalize()} {old!r} ({counted(outcomes, 'outcome')}) counts as {into!r} from now on; undo it with: "
        f"hmrouter names split {kind} {old}"
    )
    echo("Next: hmrouter train")


@app.command()
def split(
    context: typer.Context,
    kind: Of,
    old: Annotated[str, typer.Argument(help="The name that was merged.")],
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Undo a merge: the name's outcomes count under it again.

    Example: `hmrouter names split model kimi-2-5`
    Example: `hmrouter names split harness claudecode`
    """
    from hmrouter.store import OutcomeStore

    with OutcomeStore(_address(context, store), create=False) as kept:
        kept.split(kind.value, old)
        outcomes = kept.names()[kind.value].get(old, 0)
    if as_json:
        print_json("names-split", {"kind": kind.value, "name": old, "merged_into": None, "outcomes": outcomes})
        return
    echo(f"{kind.capitalize()} {old!r} ({counted(outcomes, 'outcome')}) counts under its own name again.")
    echo("Next: hmrouter train")


def known_names(names: Names, kind: str) -> Collection[str]:
    """Return the canonical names of one kind that the tables have."""
    return names.known_models if kind == Kind.MODEL else names.known_harnesses


def name_rows(
    stored: Mapping[str, int],
    known: Collection[str],
    merged: Mapping[str, str],
    spellings: Collection[tuple[str, str]] = (),
) -> list[NameRow]:
    """Describe each stored name in a row; a name that is merged already resembles nothing any more.

    >>> [(row.name, row.looks_like) for row in name_rows({"codex": 9, "open-hand": 1}, ["codex", "openhands"], {})]
    [('codex', []), ('open-hand', ['openhands'])]
    """
    from hmrouter.names.similar import look_alikes

    own = [name for name in stored if name not in merged]
    alike = look_alikes(own)
    # A known name is what its table says; a new one may be a spelling that the table lacks.
    for name, others in look_alikes([name for name in own if name not in known], known).items():
        alike[name] = [*others, *(other for other in alike.get(name, []) if other not in others)]
    return [
        NameRow(
            name, outcomes, name in known, merged.get(name), alike.get(name, []),
            [spelling for of, spelling in spellings if of == name != spelling],
        )
        for name, outcomes in sorted(stored.items())
    ]  # fmt: skip


def _table(title: str, rows: list[NameRow]) -> Table:
    spelled = ["spelled"] * any(row.spelled for row in rows)
    out = table(title, "name", "outcomes", "table", "merged into", "looks like", *spelled)
    for column in out.columns[2:]:
        column.justify = "left"
    for row in rows:
        known = "known" if row.known else "new"
        others = [_some(row.spelled)] * len(spelled)
        out.add_row(row.name, f"{row.outcomes:,}", known, row.merged_into or "", _some(row.looks_like), *others)
    return out


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _address(context: typer.Context, store: str) -> str:
    """Return the store of a subcommand: `names --store URL merge ...` means `names merge ... --store URL`."""
    above = context.parent
    typed_here = _typed(context.get_parameter_source("store"))
    if above is not None and not typed_here and _typed(above.get_parameter_source("store")):
        return str(above.params["store"])
    return store


def _typed(source: object) -> bool:
    """Whether an option was written by the user; the enumeration itself is not public."""
    return getattr(source, "name", "") == "COMMANDLINE"
