"""`hmrouter run`: from a task to a verified result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hmrouter.cli.asking import Allow, CostWeight, Deny, Elsewhere, Family, Pool, RouterFile, SuiteOfTask, TaskId
from hmrouter.cli.output import DEFAULT_STORE, Json, Store
from hmrouter.errors import UsageError


def run(
    text: Annotated[
        str, typer.Argument(help="The task, as you would give it to an agent; - reads standard input.")
    ] = "",
    verify: Annotated[
        str, typer.Option("--verify", help="The command that tells whether the task is done, by its exit code 0.")
    ] = "",
    verify_paths: Annotated[
        list[str] | None,
        typer.Option("--verify-paths", help="Files that verifying takes from the base; test files if not said."),
    ] = None,
    setup: Annotated[str, typer.Option("--setup", help="The command that makes a fresh checkout ready.")] = "",
    tasks: Annotated[Path | None, typer.Option("--tasks", help="Many tasks: a JSON object per line.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Tasks at a time.", min=1, max=64)] = 1,
    budget: Annotated[
        float | None, typer.Option("--budget", help="Stop after so many dollars in all, as far as harnesses tell.")
    ] = None,
    stop_after: Annotated[
        float | None, typer.Option("--stop-after", help="Stop an attempt after so many dollars, as far as it tells.")
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that an attempt may take.")] = 1800.0,
    max_turns: Annotated[int | None, typer.Option("--max-turns", help="Stop an attempt after so many turns.")] = None,
    attempts: Annotated[int, typer.Option("--k", help="Attempts, at most.")] = 3,
    cost_weight: CostWeight = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", help="Cap on expected dollars of an attempt.")] = None,
    effort: Annotated[str | None, typer.Option("--effort", help="How hard to think, where a harness has that.")] = None,
    incumbent: Annotated[
        str | None, typer.Option("--incumbent", help="The pair you use today; the result is compared with it.")
    ] = None,
    branch: Annotated[
        str, typer.Option("--branch", help="Have the result as a branch; of many tasks, the beginning of its name.")
    ] = "",
    in_place: Annotated[bool, typer.Option("--in-place", help="Work in the tree itself, not in a checkout.")] = False,
    sandbox: Annotated[str | None, typer.Option("--sandbox", help="bubblewrap: only the checkout is writable.")] = None,
    unattended: Annotated[
        str | None,
        typer.Option("--unattended", help="Say that harnesses may act without asking here; `no` ends it."),
    ] = None,
    harness: Annotated[
        list[Path] | None, typer.Option("--harness", help="A TOML file that describes another harness.")
    ] = None,
    baseline: Annotated[
        bool, typer.Option("--baseline/--no-baseline", help="Verify once before anything is changed.")
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show plan, commands and prices; run nothing.")] = False,
    clean: Annotated[bool, typer.Option("--clean", help="Remove what killed runs left: checkouts, processes.")] = False,
    work: Annotated[Path | None, typer.Option("--work", help="Where checkouts and output are kept.")] = None,
    router: RouterFile = None,
    pool: Pool = None,
    allow: Allow = None,
    deny: Deny = None,
    suite: SuiteOfTask = None,
    task_id: TaskId = None,
    family: Family = None,
    history: Elsewhere = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Do a task: choose a pair, run it in a checkout of its own, verify, go on to the next pair if that failed.

    The changes that pass are applied to the tree, or become a branch. Every attempt is recorded and learned from. Many
    tasks (`--tasks`) become a branch each; the same command goes on where a killed one was.

    Example: `hmrouter run "Fix the failing test in parser.py" --verify "pytest -q"`
    Example: `hmrouter run --tasks tasks.jsonl --concurrency 4 --budget 20`
    """
    from hmrouter.cli.run_job import clean_up, dry, run_many, run_one
    from hmrouter.cli.run_request import RunRequest

    request = RunRequest(
        text=text, verify=verify, verify_paths=tuple(verify_paths or ()), setup=setup, tasks=tasks,
        concurrency=concurrency, budget=budget, stop_after=stop_after, timeout=timeout, max_turns=max_turns,
        attempts=attempts, cost_weight=cost_weight, max_cost=max_cost, effort=effort, incumbent=incumbent,
        branch=branch, in_place=in_place, sandbox=sandbox, unattended=unattended, harness=tuple(harness or ()),
        baseline=baseline, work=work, router=router, pool=pool, allow=tuple(allow or ()), deny=tuple(deny or ()),
        suite=suite, task_id=task_id, family=family, history=history, store=store, as_json=as_json,
    )  # fmt: skip
    if clean:
        clean_up(request)
    elif unattended is not None and not text and tasks is None:
        request.repository()  # keeps what was said
    elif bool(text) == (tasks is not None):
        raise UsageError("give one task as text, or many with --tasks FILE")
    elif tasks is not None and in_place:
        raise UsageError("many tasks cannot work in one tree; leave --in-place out")
    elif dry_run:
        dry(request)
    elif tasks is not None:
        run_many(request)
    else:
        run_one(request)
