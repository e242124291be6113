"""`hmrouter probe`: which executions to buy next, and when to stop."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmrouter.cli.asking import Allow, Deny, Pool
from hmrouter.cli.history import HistoryOption
from hmrouter.cli.output import DEFAULT_STORE, Json, Store, dollars, echo, print_json
from hmrouter.cli.probe_inputs import ProbeInputs, ProbeOptions, gather
from hmrouter.cli.probe_output import narrower, rates_json, show_batch, standing_json, worth_json
from hmrouter.cli.words import counted
from hmrouter.types import HistorySources

if TYPE_CHECKING:
    from hmrouter.probe import ProbeGoal
    from hmrouter.probe.orders import Account, Orders
    from hmrouter.types import Task

app = typer.Typer(invoke_without_command=True, help="Which executions to buy next. Example: hmrouter probe --budget 20")

LOOKAHEAD = 10
"""How many runs `status` looks ahead where certain pairs are asked about."""
Suite = Annotated[str | None, typer.Option("--suite", help="Which suite; needed where the store has several.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", help="Cap on a pair's expected dollars per run.")]
Tasks = Annotated[Path | None, typer.Option("--tasks", help="Folder of Harbor tasks, or a file with one id per line.")]
Pair = Annotated[str | None, typer.Option("--pair", help="Ask how good this pair is: harness:model.")]
NewModel = Annotated[str | None, typer.Option("--new-model", help="Ask how good this model is with each harness.")]
NewHarness = Annotated[str | None, typer.Option("--new-harness", help="Ask how good this harness is with each model.")]
GoalOption = Annotated[str | None, typer.Option("--goal", help="best, frontier or pair; pair where pairs are named.")]
OrdersFile = Annotated[Path, typer.Option("--orders", help="The book of what was suggested.")]
Expire = Annotated[float, typer.Option("--expire", help="Days after which a run that did not come back is given up.")]
Value = Annotated[float, typer.Option("--value", help="Dollars that a solved task is worth.")]
Horizon = Annotated[int, typer.Option("--horizon", help="How many tasks the choice will serve.")]
ORDERS = Path("probe-orders.jsonl")
"""The default file of the book of orders."""


@app.callback()
def suggest(
    context: typer.Context,
    budget: Annotated[float | None, typer.Option("--budget", help="Dollars to spend.")] = None,
    runs: Annotated[int | None, typer.Option("--runs", help="Runs to suggest, at most.")] = None,
    suite: Suite = None,
    goal: GoalOption = None,
    pair: Pair = None,
    new_model: NewModel = None,
    new_harness: NewHarness = None,
    pool: Pool = None,
    allow: Allow = None,
    deny: Deny = None,
    max_cost: MaxCost = None,
    tasks: Tasks = None,
    history: HistoryOption = HistorySources.ALL,
    value: Value = 1.0,
    horizon: Horizon = 1000,
    orders: OrdersFile = ORDERS,
    expire: Expire = 14.0,
    again: Annotated[bool, typer.Option("--again", help="Suggest runs again that are still out.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Suggest, but do not note it in the book.")] = False,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write all suggested runs to this CSV file.")] = None,
    jsonl: Annotated[Path | None, typer.Option("--jsonl", help="The same as JSON Lines.")] = None,
    harbor: Annotated[Path | None, typer.Option("--harbor", help="Write Harbor job files to this folder.")] = None,
    dataset: Annotated[str, typer.Option("--dataset", help="Harbor data set of the tasks: NAME or NAME@VERSION.")] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Suggest the executions that tell most, per dollar or per run; then run them, import them and ask again.

    `hmrouter probe status` says how things stand and whether to go on.
    """
    from hmrouter.errors import UsageError
    from hmrouter.files import require_writable
    from hmrouter.probe import handover
    from hmrouter.probe.orders import Orders, ordered

    if context.invoked_subcommand is not None:
        _require_nothing_before(context)
        return
    asked = ProbeOptions(
        store, suite, history, pool, allow or (), deny or (), max_cost, tasks, pair, new_model, new_harness
    )  # fmt: skip
    wanted = _goal(goal, asked)
    if dataset and harbor is None:
        raise UsageError(f"--dataset {dataset} says where Harbor finds the tasks; add --harbor FOLDER")
    _require_apart(
        {"--csv": csv, "--jsonl": jsonl, "--orders": orders, "--tasks": tasks, "--pool": pool, "--store": _file(store)}
    )
    given, book, now = gather(asked), Orders(orders), datetime.now(UTC)
    account = _account(book, given, expire, now)
    batch = given.prober.suggest(
        budget=budget, runs=runs, goal=wanted, pairs=given.pairs, value=value, horizon=horizon,
        out=() if again else [order.key for order in account.open],
    )  # fmt: skip
    files = dict[Path, bytes]()
    if csv is not None:
        files[csv] = handover.as_csv(batch.suggestions)
    if jsonl is not None:
        files[jsonl] = handover.as_jsonl(batch.suggestions)
    homeless: list[Task] = []
    if harbor is not None:
        jobs, homeless = handover.harbor_jobs(harbor, batch.suggestions, given.folders, dataset)
        files |= jobs
    if not dry_run:
        require_writable(orders)
    handover.write_all(files)
    # What nobody was handed is not ordered.
    handed = [s for s in batch.suggestions if csv or jsonl or s.task not in homeless]
    if handed and not dry_run:
        book.append(ordered(handed, given.failures, now))
    notes = [*given.notes, *batch.notes]
    if account.open and not again:
        others = "; these are others" if batch.suggestions else ""
        are = "is" if len(account.open) == 1 else "are"
        notes.append(f"{counted(len(account.open), 'suggested run')} {are} still out{others} (--again: also those)")
    if homeless:
        shown = ", ".join(t.id for t in homeless[:5]) + (", ..." if len(homeless) > 5 else "")
        notes.append(f"left out of the job files, as no folder is known: {counted(len(homeless), 'task')} ({shown})")
    if harbor is not None and dataset and (named := dataset.partition("@")[0]) != given.suite:
        notes.append(
            f"Harbor will call the suite of these results {named!r}, not {given.suite!r}: ask with --suite {named}, or "
            "name the folder that holds the tasks with --tasks instead of --dataset"
        )
    if as_json:
        print_json(
            {
                "suite": given.suite, "goal": batch.goal, "basis": given.basis, "cost_usd": batch.cost,
                "suggestions": handover.as_rows(batch.suggestions), "worth": batch.worth and worth_json(batch.worth),
                "rates": rates_json(batch.rates), "rates_after": rates_json(batch.rates_after),
                "open": len(account.open), "excluded": batch.excluded,
                "files": [str(f) for f in files], "notes": notes,
            }
        )  # fmt: skip
        return
    show_batch(batch, given, notes, list(files))


@app.command()
def status(
    suite: Suite = None,
    goal: GoalOption = None,
    pair: Pair = None,
    new_model: NewModel = None,
    new_harness: NewHarness = None,
    pool: Pool = None,
    allow: Allow = None,
    deny: Deny = None,
    max_cost: MaxCost = None,
    tasks: Tasks = None,
    history: HistoryOption = HistorySources.ALL,
    value: Value = 1.0,
    horizon: Horizon = 1000,
    confidence: Annotated[float, typer.Option("--confidence", help="How sure is sure enough.")] = 0.9,
    orders: OrdersFile = ORDERS,
    expire: Expire = 14.0,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Say how things stand: who leads, how sure that is, what is still out, and whether more runs are worth it.

    Example: `hmrouter probe status --value 5`
    """
    from hmrouter.probe import ProbeGoal
    from hmrouter.probe.orders import Orders
    from hmrouter.probe.standing import advice, best_of, require_probability

    require_probability(confidence)

    asked = ProbeOptions(
        store, suite, history, pool, allow or (), deny or (), max_cost, tasks, pair, new_model, new_harness
    )  # fmt: skip
    wanted, given = _goal(goal, asked), gather(asked)
    account = _account(Orders(orders), given, expire, datetime.now(UTC))
    out = [order.key for order in account.open]
    lines, found = [f"It rests on {given.basis}.", *(f"Note: {note}." for note in given.notes)], dict[str, Any]()
    if wanted is ProbeGoal.PAIR:
        batch = given.prober.suggest(
            runs=LOOKAHEAD, goal=wanted, pairs=given.pairs, out=out, value=value, horizon=horizon
        )
        found = {"rates": rates_json(batch.rates), "rates_after": rates_json(batch.rates_after)}
        for before, after in zip(batch.rates, batch.rates_after, strict=True):
            more = sum(s.route == before.route for s in batch.suggestions)
            back = sum(key[2] == before.route for key in out)
            lines.append(f"{before}{narrower(more, back, after)}.")
    else:
        standing = given.prober.standing()
        outlook = given.prober.outlook(out, value, horizon, wanted)
        frontier = given.prober.frontier() if wanted is ProbeGoal.FRONTIER else []
        verdict, why = advice([s for s, _ in frontier] or [standing], outlook, confidence, len(out))
        found = {
            "standing": standing_json(standing),
            "frontier": [standing_json(s) | {"cost_usd": cost} for s, cost in frontier],
            "outlook": [worth_json(w) for w in outlook],
            "advice": verdict,
            "why": why,
        }
        for s, cost in frontier:
            sure = "" if s.challenger is None else f"; the best up to there with a probability of {s.p_best:.0%}"
            lines.append(f"Up to {dollars(cost)} a run: {s.leader}{sure}.")
        lines += [
            *([] if frontier else standing.words()),
            *([best_of(outlook).words()] if outlook and standing.challenger is not None else []),
            f"{verdict.capitalize()}: {why}.",
        ]
    lines.append(f"{account}.")
    if as_json:
        states = {f.name: len(getattr(account, f.name)) for f in fields(account)}
        print_json(
            {"suite": given.suite, "goal": wanted, "basis": given.basis, **found, "orders": states, "words": lines}
        )
        return
    for line in lines:
        echo(line)


def _goal(named: str | None, asked: ProbeOptions) -> ProbeGoal:
    from hmrouter.errors import UnknownName, UsageError
    from hmrouter.probe import ProbeGoal

    if named is None:
        return ProbeGoal.PAIR if asked.certain_pairs else ProbeGoal.BEST
    valid = [goal.value for goal in ProbeGoal]
    if named not in valid:
        raise UnknownName("goal", named, valid)
    if asked.certain_pairs and named != ProbeGoal.PAIR:
        raise UsageError(
            f"--goal {named} asks about the whole pool, and --pair, --new-model and --new-harness about certain pairs; "
            "leave one of them out"
        )
    return ProbeGoal(named)


def _require_nothing_before(context: typer.Context) -> None:
    """Refuse options in front of a subcommand, which would ignore them."""
    from hmrouter.errors import UsageError

    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            option, sub = parameter.opts[0], context.invoked_subcommand
            raise UsageError(f"{option} stands before {sub}; write it behind: hmrouter probe {sub} {option} ...")


def _require_apart(named: dict[str, Path | None]) -> None:
    """Refuse to write a file over another that is read or written here."""
    from hmrouter.errors import UsageError

    seen: dict[Path, str] = {}
    for option, path in reversed(named.items()):
        if path is not None and (other := seen.setdefault(path.resolve(), option)) != option:
            raise UsageError(f"{option} {path} is the file of {other}; choose another path")


def _file(store: str) -> Path | None:
    """Return the path of a store, if it is a file."""
    kind, _, path = store.partition(":///")
    return Path(path) if kind.startswith("sqlite") and path else None


def _account(book: Orders, given: ProbeInputs, expire: float, now: datetime) -> Account:
    return book.account(given.suite, given.done, given.failures, expire, now)
