"""`hmrouter demo`: a first answer from public results, then the whole way once, on simulated outcomes."""

from __future__ import annotations

import os.path
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hmrouter.cli.output import Json, console, dollars, percent, print_json, progress, table
from hmrouter.cli.route import candidates, public_answer

QUESTION = "Fix the failing CI job"
HARNESSES = "harness=claude-code,codex,openhands"
TASKS = (
    "Fix the failing unit test in the billing service: rounding raises an exception after the last refactoring.",
    "Open the website of the ticket shop, search for visitor numbers, and note the three cheapest offers.",
    "Write a two-page report for the city library about opening hours, for readers without a technical background.",
)
METHODS = ("random", "fixed", "component_average", "knn", "component_only", "hm", "safe", "oracle")


def demo(
    directory: Annotated[Path, typer.Option("--dir", help="Where the demo's files go.")] = Path("out/demo"),
    as_json: Json = False,
) -> None:
    """A real question answered from public results; then, simulated: store, router, three tasks, comparison.

    Nothing in the second part is a real result: models, harnesses, tasks and outcomes are invented.

    Example: `hmrouter demo`
    Example: `hmrouter demo --dir /tmp/demo --json`
    """
    from hmrouter.bench.benchmarks.worlds import demo_world
    from hmrouter.decide.document import to_dict
    from hmrouter.errors import OutputError
    from hmrouter.evidence.dataset import Dataset
    from hmrouter.files import sole_writer
    from hmrouter.router import Router
    from hmrouter.store import OutcomeStore

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise OutputError(f"cannot make the directory {directory}: {e.strerror}; choose another with --dir") from e
    answer, elsewhere = public_answer(QUESTION, [HARNESSES], max_cost=2.0, top=3)
    world, file = demo_world(), directory / "router.hmr"
    with sole_writer(file), OutcomeStore(f"sqlite:///{directory / 'demo.db'}") as store:
        added = store.add(world.outcomes(share=0.8))
        data = Dataset(store.outcomes())
        # This world has strong preferences per task planted in it, which is what the paper's scorer looks for.
        with progress("training hm", "epochs") as show:
            router = Router(scorer="hm").fit(data, cache=store, progress=show)
        router.save(file)
    decisions = [Router.load(file).route(task, cost_weight=0.05, top=3) for task in TASKS]
    results = _compare(data)
    if as_json:
        print_json(
            "demo",
            {
                "public": to_dict(answer, elsewhere),
                "simulated": True,
                "router": str(file),
                "decisions": [to_dict(d) for d in decisions],
                "results": results,
            },
        )
        return
    out = console()
    out.print("1. Before you have any outcomes: an answer from public results, for at most $2.", style="bold")
    out.print(candidates(answer, QUESTION, elsewhere))
    if elsewhere is not None:
        out.print(f"This rests on {elsewhere.background}; your own outcomes soon outweigh it.\n")
    out.print("2. With outcomes of your own, as it would be.", style="bold")
    out.print("SIMULATED: invented models, harnesses, tasks and outcomes; no real result.", style="bold")
    out.print(f"{added.new:,} outcomes imported, {added.known:,} known already; {data!r}.")
    out.print(f"Trained router: {file}\n")
    for decision in decisions:
        out.print(candidates(decision, decision.task.text))
    rows = table("Held-out tasks, mean of 3 splits (SIMULATED)", "method", "accuracy %", "% of oracle", "cost", "AUC")
    for r in results:
        score = "-" if r["auc"] is None else f"{r['auc']:.3f}"
        normalized = percent(r["normalized_accuracy"])
        rows.add_row(r["method"], percent(r["accuracy"]), normalized, dollars(r["cost_usd"]), score)
    out.print(rows)
    out.print(
        "This invented world has strong per-task preferences planted, so what ranks per task (hm and component_only, "
        "both of the paper) shines. Real outcomes show few, and Fixed is hard to beat: there the default scorer is "
        "safe (docs/results.md)."
    )
    out.print(f'Next, as you may type it here: {_typed()} route "{QUESTION}" --max-cost 2', soft_wrap=True)
    out.print(f"With runs of your own: {_typed()} import FILE-OR-FOLDER, then train, then route.", soft_wrap=True)


def _typed() -> str:
    """Return how to call this command: its name, or its path where the shell would not find it by name."""
    ours = sys.argv[0]
    found = shutil.which("hmrouter")
    if Path(ours).name != "hmrouter" or (found and os.path.realpath(found) == os.path.realpath(ours)):
        return "hmrouter"
    return shlex.quote(ours)


def _compare(data: Any) -> list[dict[str, Any]]:
    from hmrouter.bench.judge.evaluate import evaluate
    from hmrouter.bench.judge.predict import prepare

    splits = [(s, *prepare(s)) for s in data.splits(3)]
    results = []
    with progress("comparing methods", "fits") as show:
        for i, method in enumerate(METHODS):
            runs = []
            for j, (split, training, x_test) in enumerate(splits):
                runs.append(evaluate(method, split, training, x_test))
                show(i * len(splits) + j + 1, len(METHODS) * len(splits))
            results.append({"method": method} | {key: _mean([getattr(r, key) for r in runs]) for key in (
                "accuracy", "oracle_accuracy", "normalized_accuracy", "cost_usd", "auc", "log_loss")})  # fmt: skip
    return results


def _mean(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
