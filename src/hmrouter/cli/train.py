"""`hmrouter train`: learn a router file from the outcomes of the store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hmrouter.cli import half_life as fading
from hmrouter.cli.history import HistoryOption
from hmrouter.cli.output import DEFAULT_ROUTER, DEFAULT_STORE, Json, Store, echo, print_json, progress, say
from hmrouter.cli.words import counted
from hmrouter.types import HistorySources

SCORERS = "component_average, component_only, fixed, hm, knn, random, safe, safe_alone"
EMBEDDERS = "lsa, openai, sentence-transformers"
"""The names as help shows them, written out, as the registries need NumPy. Completion asks the registries, and knows
plug-ins, too."""


def _scorers(incomplete: str) -> list[str]:
    from hmrouter.scorers.base import SCORERS as registry

    return [name for name in registry.names() if name.startswith(incomplete)]


def _embedders(incomplete: str) -> list[str]:
    from hmrouter.features.base import EMBEDDERS as registry

    return [name for name in registry.names() if name.startswith(incomplete)]


def train(
    store: Store = DEFAULT_STORE,
    scorer: Annotated[
        str, typer.Option("--scorer", help=f"One of: {SCORERS}; or of a plug-in.", autocompletion=_scorers)
    ] = "safe",
    embedder: Annotated[
        str, typer.Option("--embedder", help=f"One of: {EMBEDDERS}; or of a plug-in.", autocompletion=_embedders)
    ] = "lsa",
    suite: Annotated[list[str] | None, typer.Option("--suite", help="Only this suite; may be repeated.")] = None,
    harnesses: Annotated[
        Path | None, typer.Option("--harnesses", help="TOML file with descriptions of your own harnesses.")
    ] = None,
    half_life: fading.Option = None,
    old_versions: Annotated[
        float | None,
        typer.Option(
            "--old-versions",
            metavar="N",
            help="Older versions of a route's harness or model count as at most N outcomes; 15 is usual.",
        ),
    ] = None,
    history: HistoryOption = HistorySources.ALL,
    out: Annotated[Path, typer.Option("--out", help="The router file to write.")] = Path(DEFAULT_ROUTER),
    as_json: Json = False,
) -> None:
    """Learn a router from the outcomes in the store and write it to one file.

    Example: `hmrouter train --suite our-repo --out our-repo.hmr`
    """
    from hmrouter.features.descriptions import HarnessDescriptions
    from hmrouter.files import sole_writer
    from hmrouter.router import Router
    from hmrouter.store import OutcomeStore
    from hmrouter.workload import Workload, stored_half_lives

    descriptions = HarnessDescriptions.from_toml(harnesses) if harnesses else None
    router = Router(scorer, embedder, descriptions=descriptions)
    with sole_writer(out), OutcomeStore(store, create=False) as kept:
        workload = Workload.of_store(
            kept, suites=suite or (), history=history if router.scorer.listens else HistorySources.NONE,
            half_life=fading.chosen(half_life, stored_half_lives(kept)), old_versions=old_versions,
        )  # fmt: skip
        data = workload.data
        fading.require_suites(half_life, data.suites)
        if len(data.suites) > 1:
            say(
                f"note: {len(data.suites)} suites are learned as one workload ({', '.join(data.suites)}); "
                "for a router of one of them, give --suite"
            )
        with progress(f"training {scorer}", "epochs") as show:
            router.learn(workload, kept, show)
        router.save(out)
    report = asdict(router.report_)
    if as_json:
        print_json({"router": str(out), "scorer": scorer, "embedder": router.embedder.identity(), **report})
        return
    r = router.report_
    pool = f"{counted(r.models, 'model')} x {counted(r.harnesses, 'harness', 'harnesses')}"
    echo(
        f"Trained {scorer!r} on {counted(r.outcomes, 'execution')} of {counted(r.tasks, 'task')} on "
        f"{counted(r.observed_routes, 'route')} ({pool}, suites: {', '.join(r.suites)})."
    )
    for status, n in r.ignored.items():
        echo(f"Not counted: {counted(n, 'outcome')} with status {status}.")
    for line in fading.lines(data.half_life):
        echo(line)
    if old_versions is not None:
        echo(f"Older versions of a route count as at most {old_versions:g} outcomes.")
    if router.scorer.reliability().get("per_task"):
        echo("Tasks differ in what suits them: what a task is about has a say in the choice.")
    if r.history is not None:
        echo(f"It rests on {r.history}.")
    echo(f"Wrote {out}. Next: hmrouter route TEXT --router {out}")
