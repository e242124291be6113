"""`hmrouter doctor`: which harnesses, keys and models are here, what is missing, and whether pairs really work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.asking import Pool, asked_pool
from hmrouter.cli.output import Json, console, echo, print_json, say, table
from hmrouter.cli.words import counted
from hmrouter.errors import UnknownName, UsageError
from hmrouter.types import Route

if TYPE_CHECKING:
    from rich.table import Table

    from hmrouter.run.doctor import Finding
    from hmrouter.run.drivers.base import Driver
    from hmrouter.run.probe_pairs import Probed


def doctor(
    harness: Annotated[list[Path] | None, typer.Option("--harness", help="TOML file of a harness of your own.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no service which models it has.")] = False,
    probe: Annotated[bool, typer.Option("--probe", help="Run one tiny task with each pair; it costs cents.")] = False,
    route: Annotated[list[str] | None, typer.Option("--route", help="A pair to probe: harness:model.")] = None,
    pool: Pool = None,
    max_dollars: Annotated[float, typer.Option("--stop-after", help="Stop a probe after so many dollars.")] = 0.25,
    max_seconds: Annotated[float, typer.Option("--timeout", help="Stop a probe after so many seconds.")] = 300.0,
    without_asking: Annotated[
        bool,
        typer.Option("--without-asking", help="Also probe harnesses that never ask, in the probe's temporary folder."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show which harnesses are here, their versions, keys (never shown) and models, and how to get what is missing.

    With `--probe`, each pair that `--route` or `--pool` names does one tiny task for real.

    Example: `hmrouter doctor --probe --route claude-code:claude-sonnet-4-5`
    """
    from hmrouter.run.doctor import examine
    from hmrouter.run.drivers import all_drivers

    drivers = all_drivers(harness or ())
    routes = _routes(route, pool, drivers) if probe else []
    wanted = {r.harness for r in routes} if probe else drivers.keys()
    findings = examine({name: drivers[name] for name in drivers if name in wanted}, ask_services=not offline)
    probed = _probe(routes, drivers, findings, max_dollars, max_seconds, without_asking) if probe else []
    if as_json:
        document = {"harnesses": [finding.to_dict() for finding in findings]}
        print_json(document | ({"probes": [row.to_dict() for row in probed]} if probe else {}))
    else:
        out = console()
        out.print(_findings(findings))
        for line in _advice(findings):
            echo(line)
        if probe:
            out.print(_probes(probed))
    if probe and not all(row.works for row in probed):
        raise typer.Exit(1)


def _routes(named: list[str] | None, pool: Path | None, drivers: dict[str, Driver]) -> list[Route]:
    """List the pairs to probe."""
    from hmrouter.decide.pool import canonical_route

    routes = [*map(canonical_route, named or ()), *(asked_pool(pool) or ())]
    if not routes:
        raise UsageError("--probe needs pairs to run; name them with --route harness:model or --pool FILE")
    for route in routes:
        if route.harness not in drivers:
            raise UnknownName("harness", route.harness, drivers)
    return list(dict.fromkeys(routes))


def _probe(
    routes: list[Route],
    drivers: dict[str, Driver],
    findings: list[Finding],
    max_dollars: float,
    max_seconds: float,
    without_asking: bool,
) -> list[Probed]:
    """Run the pairs that can be run, and say of the others why not."""
    from hmrouter.run.doctor import sort_out
    from hmrouter.run.probe_pairs import Probed, probe_pairs

    able, unable = sort_out(routes, drivers, findings)
    if not without_asking:
        unable |= {
            r: "it never asks before it acts; --without-asking runs it"
            for r in able
            if drivers[r.harness].only_bypassed
        }
        able = [route for route in able if route not in unable]
    rows = [Probed(route, None, False, why) for route, why in unable.items()]
    limits = {"max_dollars": max_dollars, "max_seconds": max_seconds}
    for row in probe_pairs(able, drivers, **limits, bypass=without_asking):
        say(f"{row.route}: {'works' if row.works else row.error}")
        rows.append(row)
    order = {route: place for place, route in enumerate(routes)}
    return sorted(rows, key=lambda row: order[row.route])


def _findings(findings: list[Finding]) -> Table:
    out = table("Harnesses", "harness", "version", "key", "models", "asks first", least=("asks first",))
    for column in out.columns[1:]:
        column.justify = "left"
    for f in findings:
        version = "not here" if f.version is None else f.version or "here"
        key = ", ".join(f.keys) or ("signed in" if f.signed_in else "none")
        models = counted(len(f.models), "model") if f.models is not None else f.unreached or "not listed"
        out.add_row(f.harness, version, key, models, "yes" if f.asks_first else "never")
    return out


def _advice(findings: list[Finding]) -> list[str]:
    ready = [f.harness for f in findings if f.ready]
    lines = [f"Ready: {', '.join(ready)}." if ready else "No harness is ready."]
    lines += [f"{f.harness}: {m.what}. To get it: {m.get_it}" for f in findings for m in f.missing]
    return lines


def _probes(rows: list[Probed]) -> Table:
    out = table("Probes", "pair", "works", "dollars", "seconds", "tokens in / out", "error")
    out.columns[-1].justify = "left"
    for row in rows:
        usage = row.result.usage if row.result else None
        dollars = "" if usage is None or usage.dollars is None else f"{usage.dollars:.4f} ({usage.cost_basis})"
        seconds = f"{row.result.seconds:.1f}" if row.result else ""
        tokens = (
            "" if usage is None or usage.input_tokens is None else f"{usage.input_tokens:,} / {usage.output_tokens:,}"
        )
        out.add_row(str(row.route), "yes" if row.works else "no", dollars, seconds, tokens, row.error)
    return out
