"""Show the answers of `hmrouter probe`, to people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmrouter.cli.error_words import REASONS
from hmrouter.cli.output import console, dollars, echo, say, table
from hmrouter.cli.words import counted

if TYPE_CHECKING:
    from hmrouter.cli.probe_inputs import ProbeInputs
    from hmrouter.probe import Batch
    from hmrouter.probe.standing import Rate, Standing, Worth

SHOWN = 20
"""The most runs that the table shows; files hold all of them."""


def show_batch(batch: Batch, given: ProbeInputs, notes: list[str], files: list[Path]) -> None:
    """Print the suggested runs as a table, their worth, and what to do next."""
    from hmrouter.costs.cost import is_guess

    rows = table(f"Next runs on {given.suite}", "task", "pair", "tells, points", "cost")
    for s in batch.suggestions[:SHOWN]:
        cost = dollars(s.cost, guessed=is_guess(s.cost_basis))
        rows.add_row(s.task.id, str(s.route), f"{100 * s.gain:.2f}", cost)
    if batch.suggestions:
        console().print(rows)
        rest = len(batch.suggestions) - SHOWN
        more = f", {rest} of them not shown" if rest > 0 else ""
        echo(f"{counted(len(batch.suggestions), 'run')}{more}; expected cost {dollars(batch.cost)}.")
        for before, after in zip(batch.rates, batch.rates_after, strict=True):
            echo(f"{before}; after these runs the interval will be about {after.width:.0f} points wide.")
        if batch.worth is not None:
            echo(batch.worth.words())
            if batch.worth.cost is not None and batch.worth.net <= 0.0:
                notes = [*notes, "these runs cost more than they are worth; is it time to stop? hmrouter probe status"]
    for file in files:
        echo(f"Wrote {file}.")
    for reason, n in batch.excluded.items():
        say(f"left out: {counted(n, 'pair')} ({REASONS.get(reason, reason)})")
    say(f"note: this rests on {given.basis}")
    for note in notes:
        say(f"note: {note}")
    if batch.suggestions:
        echo("Next: run them, then hmrouter import RESULTS and hmrouter probe status")


def worth_json(worth: Worth) -> dict[str, Any]:
    """Return the worth of a batch for `--json`."""
    return asdict(worth) | {"dollars": worth.dollars}


def rates_json(rates: Sequence[Rate]) -> list[dict[str, Any]]:
    """Return success rates of routes for `--json`."""
    return [asdict(rate) | {"route": str(rate.route)} for rate in rates]


def standing_json(standing: Standing) -> dict[str, Any]:
    """Return who leads, and how sure that is, for `--json`."""
    both = rates_json([rate for rate in (standing.leader, standing.challenger) if rate is not None])
    return asdict(standing) | {"leader": both[0], "challenger": both[1] if len(both) > 1 else None}


def narrower(more: int, back: int, after: Rate) -> str:
    """Say how wide a pair's interval will be after the runs to come."""
    if not more + back:
        return ""
    runs = counted(more + back, "more run")
    out = f", {back} of them still out," if 0 < back < more + back else " that are still out" * bool(back)
    return f"; {runs}{out} would make the interval about {after.width:.0f} points wide"
