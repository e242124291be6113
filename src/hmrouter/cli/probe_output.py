"""How `hmrouter probe` says things: to people, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hmrouter.cli.error_words import REASONS
from hmrouter.cli.output import console, dollars, say, table
from hmrouter.cli.words import counted

if TYPE_CHECKING:
    from hmrouter.cli.probe_inputs import ProbeInputs
    from hmrouter.probe import Batch
    from hmrouter.probe.standing import Rate, Standing, Worth

SHOWN = 20
"""Runs in the table; files hold all of them."""


def show_batch(batch: Batch, given: ProbeInputs, notes: list[str], files: list[Path]) -> None:
    """The suggested runs as a table, what they are worth, and what to do next."""
    rows = table(f"Next runs on {given.suite}", "task", "pair", "tells, points", "cost")
    for s in batch.suggestions[:SHOWN]:
        cost = dollars(s.cost, guessed=s.cost_basis != "route")
        rows.add_row(s.task.id, str(s.route), f"{100 * s.gain:.2f}", cost)
    if batch.suggestions:
        console().print(rows)
        rest = len(batch.suggestions) - SHOWN
        more = f", {rest} of them not shown" if rest > 0 else ""
        typer.echo(f"{counted(len(batch.suggestions), 'run')}{more}; expected cost {dollars(batch.cost)}.")
        for before, after in zip(batch.rates, batch.rates_after, strict=True):
            typer.echo(f"{before}; after these runs the interval will be about {after.width:.0f} points wide.")
        if batch.worth is not None:
            typer.echo(batch.worth.words())
            if batch.worth.cost is not None and batch.worth.net <= 0.0:
                notes = [*notes, "these runs cost more than they are worth; is it time to stop? hmrouter probe status"]
    for file in files:
        typer.echo(f"Wrote {file}.")
    for reason, n in batch.excluded.items():
        say(f"left out: {counted(n, 'pair')} ({REASONS.get(reason, reason)})")
    say(f"note: this rests on {given.basis}")
    for note in notes:
        say(f"note: {note}")
    if batch.suggestions:
        typer.echo("Next: run them, then hmrouter import RESULTS and hmrouter probe status")


def worth_json(worth: Worth) -> dict[str, Any]:
    """What a batch is worth."""
    return asdict(worth) | {"dollars": worth.dollars}


def rates_json(rates: Sequence[Rate]) -> list[dict[str, Any]]:
    """Success rates of routes, by name."""
    return [asdict(rate) | {"route": str(rate.route)} for rate in rates]


def standing_json(standing: Standing) -> dict[str, Any]:
    """Who leads, and how sure that is."""
    both = rates_json([rate for rate in (standing.leader, standing.challenger) if rate is not None])
    return asdict(standing) | {"leader": both[0], "challenger": both[1] if len(both) > 1 else None}


def narrower(more: int, back: int, after: Rate) -> str:
    """What the runs to come will make of an interval."""
    if not more + back:
        return ""
    runs = counted(more + back, "more run")
    out = f", {back} of them still out," if 0 < back < more + back else " that are still out" * bool(back)
    return f"; {runs}{out} would make the interval about {after.width:.0f} points wide"
