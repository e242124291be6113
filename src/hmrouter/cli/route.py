"""`hmrouter route`: choose a pair for a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.asking import (
    Allow,
    CostWeight,
    Deny,
    Elsewhere,
    Family,
    Pool,
    Record,
    RouterFile,
    SuiteOfTask,
    TaskId,
    asked_pool,
    asked_router,
    asked_task,
    kept_in_log,
    say_unknown,
)
from hmrouter.cli.completion import routes
from hmrouter.cli.error_words import REASONS
from hmrouter.cli.output import (
    DEFAULT_ROUTER,
    DEFAULT_STORE,
    Json,
    Store,
    console,
    dollars,
    percent,
    print_json,
    say,
    table,
)
from hmrouter.cli.words import counted
from hmrouter.types import Decision

if TYPE_CHECKING:
    from rich.table import Table

    from hmrouter.decide.document import Elsewhere as SeenElsewhere
    from hmrouter.decide.policy import Policy
    from hmrouter.router import Router

EVIDENCE = "runs of pair /\nmodel / harness"
EVIDENCE_AND_MORE = "runs here, suites elsewhere"
"""The header where other suites have a say: the column then also counts those that report the pair."""
LEAST = ("90% of\ncost", EVIDENCE, EVIDENCE_AND_MORE, "best\n%", "90%\ninterval")
"""Columns that are left out on a narrow terminal, in this order."""


def route(
    text: Annotated[str, typer.Argument(help="The task, as you would give it to an agent; - reads standard input.")],
    router: RouterFile = None,
    pool: Pool = None,
    allow: Allow = None,
    deny: Deny = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", help="Cap on expected dollars per task.")] = None,
    cost_weight: CostWeight = None,
    budget_per_task: Annotated[
        float | None, typer.Option("--budget-per-task", help="Dollars that a task may cost on average.")
    ] = None,
    incumbent: Annotated[
        str | None,
        typer.Option(
            "--incumbent",
            help="The route you use today, left only when the evidence says so.",
            autocompletion=routes,
        ),
    ] = None,
    margin: Annotated[
        float | None, typer.Option("--margin", help="How much better another must be to leave the incumbent: 0.02.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="Insist on this embedder; another one in the file is refused.")
    ] = None,
    suite: SuiteOfTask = None,
    task_id: TaskId = None,
    family: Family = None,
    history: Elsewhere = None,
    store: Store = DEFAULT_STORE,
    top: Annotated[int, typer.Option("--top", help="How many candidates to show.")] = 5,
    record: Record = False,
    as_json: Json = False,
) -> None:
    """Choose a (model, harness) pair for a task, with the evidence behind the choice.

    Without a router file the answer rests on the outcomes in the store, if any, and on results of other suites: the
    shipped ones and those of `hmrouter history`.

    Example: `hmrouter route "Fix the failing CI job" --max-cost 2`
    Example: `hmrouter route - --allow harness=codex,claude-code --json < task.txt`
    """
    from hmrouter.decide.document import recorded
    from hmrouter.decide.pool import canonical_route
    from hmrouter.errors import EmbedderMismatch

    task = asked_task(text, suite, task_id, family)
    loaded, untrained = asked_router(router, history, suite, store, embedder or "lsa")
    if embedder is not None and embedder != loaded.embedder.name:
        raise EmbedderMismatch(
            f"{router or DEFAULT_ROUTER} was trained with the embedder {loaded.embedder.name!r}, not {embedder!r}; "
            f"leave --embedder out, or train again with: hmrouter train --embedder {embedder}"
        )
    if not task.text:
        say("note: the task has no text, so the choice rests on the routes alone")
    default = loaded.known_routes if untrained else None
    home = canonical_route(incumbent) if incumbent else loaded.policy.incumbent
    decision = loaded.route(
        task,
        pool=asked_pool(pool) or default,
        allow=allow or (),
        deny=deny or (),
        max_cost=max_cost,
        cost_weight=cost_weight,
        budget_per_task=budget_per_task,
        incumbent=home,
        margin=margin,
        top=None if record or (home is not None and top >= 1) else top,  # both need the whole ranking
    )
    if record:
        kept_in_log(recorded(decision), store)
    verdict = on_incumbent(decision, loaded.policy.given(margin=margin))
    decision = replace(decision, ranked=decision.ranked[:top])
    if untrained:
        say(f"note: there is no router file; this rests on {basis(loaded, decision)}")
    show(decision, loaded.elsewhere(decision), as_json, verdict)


def basis(router: Router, decision: Decision) -> str:
    """Say in a line what a decision without a trained router rests on."""
    elsewhere = router.elsewhere(decision)
    return f"{router.report_.outcomes:,} own runs only" if elsewhere is None else str(elsewhere.background)


def public_answer(
    text: str, allow: Sequence[str] = (), max_cost: float | None = None, top: int = 5
) -> tuple[Decision, SeenElsewhere | None]:
    """Give the first answer of a fresh installation: from the shipped results alone, whatever else there is."""
    from hmrouter.history.public import shipped
    from hmrouter.router import Router

    router = Router.from_history(shipped())
    decision = router.route(text, allow=allow, max_cost=max_cost, top=top)
    return decision, router.elsewhere(decision)


def show(decision: Decision, elsewhere: SeenElsewhere | None = None, as_json: bool = False, verdict: str = "") -> None:
    """Print a decision; `verdict`: what became of the incumbent."""
    from hmrouter.decide.document import to_dict

    if as_json:
        print_json("route", to_dict(decision, elsewhere))
        return
    out = console()
    out.print(candidates(decision, f"Route: {decision.route}", elsewhere))
    from hmrouter.decide.explanation import earlier_in_words

    for line in (verdict, *earlier_in_words(decision), "; ".join(legend(decision, elsewhere))):
        if line:
            out.print(line)
    if decision.budget_per_task is not None:
        say(
            f"budget of {dollars(decision.budget_per_task)} per task: cost weight {decision.cost_weight:.3g}, "
            f"with which tasks are expected to cost {dollars(decision.spend_per_task)} on average"
        )
    for reason, n in decision.excluded.items():
        say(f"left out: {counted(n, 'route')} ({REASONS.get(reason, reason)})")
    say_unknown(decision.unknown)


def candidates(decision: Decision, title: str, elsewhere: SeenElsewhere | None = None) -> Table:
    """Make the table of a decision's ranked candidates, with their evidence; `legend` explains its columns."""
    from hmrouter.costs.cost import is_guess

    weighed = _weighed(decision)
    sure = decision.interval is not None
    evidence = EVIDENCE_AND_MORE if _told(elsewhere) else EVIDENCE
    priced = any(c.cost_interval is not None for c in decision.ranked)
    columns = ("route", "success\n%", *["90%\ninterval", "best\n%"] * sure, "cost", *["90% of\ncost"] * priced,
               *["ranked\nby"] * weighed, evidence)  # fmt: skip
    out = table(title, *columns, least=LEAST)
    for c in decision.ranked:
        e = c.evidence
        low, high = c.interval or (None, None)
        cells = [percent(c.success)]
        cells += [f"{percent(low, 0)} to {percent(high, 0)}", percent(c.p_best, 0)] * sure
        cells.append(dollars(c.cost, guessed=is_guess(c.cost_basis, c.cost_interval)))
        around = "-" if c.cost_interval is None else "-".join(dollars(v).removeprefix("$") for v in c.cost_interval)
        cells += [around] * priced
        cells += [f"{c.value:.3f}"] * weighed
        runs = f"{e.pair if c.observed else 'never'} / {e.model} / {e.harness}"
        if elsewhere is not None:
            runs = ", ".join([runs, *(f"{n} {kind}" for kind, n in elsewhere.seen[c.route]._asdict().items() if n)])
        cells.append(runs)
        out.add_row(str(c.route), *cells)
    return out


def legend(decision: Decision, elsewhere: SeenElsewhere | None = None) -> Iterator[str]:
    """Explain the columns of `candidates`, as far as their headers do not."""
    from hmrouter.costs.cost import is_guess

    weight = decision.cost_weight
    per_dollar = f", less {weight:.3g} per dollar of cost" if weight else ""
    if any(c.p_best is not None for c in decision.ranked):
        yield f"best %: probability of being the best of {counted(decision.n_candidates, 'candidate')}" + (
            f" by success{per_dollar}" if weight else ""
        )
    if _weighed(decision):
        differs = [c for c in decision.ranked if c.merit != c.success]
        if any(c.observed for c in differs):
            yield f"ranked by: what the scorer {decision.scorer!r} goes by{per_dollar}"
        else:
            yield f"ranked by: success{', less a margin for pairs never run' * bool(differs)}{per_dollar}"
    if any(is_guess(c.cost_basis, c.cost_interval) for c in decision.ranked):
        yield "~: a cost that is not from the pair's own runs"
    if _told(elsewhere):
        yield "runs here: of pair / model / harness, then the other suites that report the pair"


def on_incumbent(decision: Decision, policy: Policy) -> str:
    """Say why the incumbent stays or not, given a decision with its whole ranking; nothing without an incumbent."""
    home, best = decision.incumbent, decision.best
    if home is None:
        return ""
    sure = "" if best.p_best is None else f" with a probability of at least {policy.confidence:.0%}"
    if home == best.route:
        ahead = [c for c in decision.ranked if c.value > best.value]
        if not ahead:
            return f"The incumbent {home} stays: no candidate ranks above it."
        gain = ahead[0].value - best.value
        return (
            f"The incumbent {home} stays: no candidate is better by the margin of {policy.margin:g}{sure} "
            f"({ahead[0].route} is ahead by {gain:.3f})."
        )
    left = next((c for c in decision.ranked if c.route == home), None)
    if left is None:
        reasons = " or ".join(REASONS.get(reason, reason) for reason in decision.excluded)
        return f"The incumbent {home} was left: it is ruled out ({reasons})."
    gain = best.value - left.value
    return f"The incumbent {home} was left: the choice is better by {gain:.3f}, the margin is {policy.margin:g}{sure}."


def _weighed(decision: Decision) -> bool:
    """Whether candidates are ranked by something other than success, which the table must then show."""
    return bool(decision.cost_weight) or any(c.merit != c.success for c in decision.ranked)


def _told(elsewhere: SeenElsewhere | None) -> bool:
    """Whether other suites report a candidate."""
    return elsewhere is not None and any(map(any, elsewhere.seen.values()))
