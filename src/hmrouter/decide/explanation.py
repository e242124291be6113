"""Explain a decision in sentences: how sure it is, what it rests on, and what would change it."""

from __future__ import annotations

import math
from typing import Any

from hmrouter.decide.document import Elsewhere
from hmrouter.decide.policy import show_dollars
from hmrouter.history.public import SuiteCounts
from hmrouter.types import Candidate, Decision, EarlierRuns

MOST_EARLIER = 6
"""Pairs whose earlier runs are told one by one."""

BASIS_IN_WORDS = {
    "route": "the mean of this pair's own runs",
    "model+harness": "an estimate from other runs of its model and its harness, as the pair has no known cost",
    "model": "an estimate from its model with other harnesses, as the harness has no known cost",
    "harness": "an estimate from its harness with other models, as the model has no known cost",
    "history": "the mean that other suites report of this pair, as it has no known cost here",
    "history estimate": "an estimate from what other suites report of its model or its harness",
    "unknown": "not known",
}


def in_words(decision: Decision, elsewhere: Elsewhere | None = None) -> list[str]:
    """Explain in sentences why this route was chosen."""
    best, weight = decision.best, decision.cost_weight
    lines = [f"{best.route} was chosen for this task by the scorer {decision.scorer!r}."]
    if elsewhere is not None:
        lines.append(f"It rests on {elsewhere.background}.")
    seen = SuiteCounts(0, 0) if elsewhere is None else elsewhere.seen[best.route]
    interval = _interval(best, "this very task" if decision.earlier else "tasks like this one")
    lines.append(f"Predicted success: {best.success:.0%}{interval}. {_evidence(best, seen)}")
    lines += earlier_in_words(decision)
    if best.merit < best.success:
        lines.append(f"As it was never run here, it was ranked as if its success were {best.merit:.0%}.")
    if best.p_best is not None and decision.expected_regret is not None:
        unit = "of value (success - weight x cost)" if weight else "of success"
        lines.append(
            f"It is the best of the candidates with a probability of {best.p_best:.0%}; the choice is expected to lose "
            f"{decision.expected_regret * 100:.1f} points {unit} against the best."
        )
    if best.cost is None:
        lines.append("Expected cost: not known; no run of its model or its harness has a cost.")
    else:
        lines.append(f"Expected cost: {show_dollars(best.cost)} per task, {BASIS_IN_WORDS[best.cost_basis]}.")
        lines += _cost_details(best)
        if decision.budget_per_task is not None and decision.spend_per_task is not None:
            lines.append(
                f"A budget of {show_dollars(decision.budget_per_task)} per task asks for a cost weight of {weight:.3g}"
                f": choices on reference tasks then cost {show_dollars(decision.spend_per_task)} on average."
            )
        if weight:
            lines.append(
                f"Cost weight {weight:g}: a dollar must buy {weight:.0%} of success, so it was ranked by "
                f"{best.merit:.3f} - {weight:g} x {best.cost:.3g} = {best.value:.3f}."
            )
    lines += _against_runner_up(decision)
    if decision.incumbent is not None and decision.incumbent != decision.route:
        why = "the choice is better by the margin, with enough probability"
        if decision.excluded and all(c.route != decision.incumbent for c in decision.ranked):
            why = f"it is ruled out, or {why}"
        lines.append(f"The incumbent {decision.incumbent} was left: {why}.")
    if decision.calibration:
        c = decision.calibration
        lines.append(
            f"On {c['cells']:,} outcomes that were left out of the fit, predicted and observed success differed by "
            f"{c['ece'] * 100:.1f} points on average (calibration: {c['kind']})."
        )
    lines += [f"Left out: {_count(n, 'route')} ({reason})." for reason, n in decision.excluded.items()]
    return lines


def comparison(decision: Decision) -> dict[str, Any]:
    """Give the numbers behind `in_words`: how far behind the runner-up is, and what would put it first."""
    if len(decision.ranked) < 2:
        return {}
    best, other = decision.ranked[:2]
    return {
        "runner_up": str(other.route),
        "gap_success": best.success - other.success,
        "gap_value": best.value - other.value,
        "switch_cost_weight": _switch(best, other),
        "held_by_incumbent": best.route == decision.incumbent and other.value > best.value,
    }


def _switch(best: Candidate, other: Candidate) -> float | None:
    """Compute the cost weight at which the two are even; None where no weight changes their order."""
    if best.cost is None or other.cost is None or not (best.merit - other.merit) * (best.cost - other.cost) > 0:
        return None
    return (best.merit - other.merit) / (best.cost - other.cost)


def earlier_in_words(decision: Decision) -> list[str]:
    """Say what happened on this task before, and on tasks like it; nothing where nothing ran.

    >>> from hmrouter.types import EarlierRuns, Route, Task
    >>> a, b = Route("gpt-5", "codex"), Route("opus", "aider")
    >>> ran = EarlierRuns(a, 10, 1.0), EarlierRuns(b, 3, 1 / 3), EarlierRuns(b, 1, 0.0, like=True)
    >>> for line in earlier_in_words(Decision(Task("t"), (), earlier=ran)):
    ...     print(line)
    Ran on this task before: codex:gpt-5 10 times, all solved; aider:opus 3 times, 1 solved.
    Ran on tasks like it: aider:opus once, not solved.
    """
    lines = []
    for like, where in ((False, "Ran on this task before"), (True, "Ran on tasks like it")):
        ran = [e for e in decision.earlier if e.like == like]
        shown = [_ran(e) for e in sorted(ran, key=lambda e: (-e.runs, e.route))[:MOST_EARLIER]]
        if len(ran) > len(shown):
            shown.append(f"and {_count(len(ran) - len(shown), 'other pair')}")
        if shown:
            lines.append(f"{where}: {'; '.join(shown)}.")
    return lines


def _ran(earlier: EarlierRuns) -> str:
    n = max(round(earlier.runs), 1)
    solved = earlier.score * n
    often = "once" if n == 1 else f"{n:,} times"
    if abs(earlier.runs - n) > 1e-9 or abs(solved - round(solved)) > 1e-6:  # old runs fade, and scores may be soft
        told = f"{earlier.score:.0%} on average"
        often = often if abs(earlier.runs - n) < 1e-9 else f"about {often}, the old ones counted in part"
    elif round(solved) in (0, n):
        told = ("solved" if n == 1 else "all solved") if solved > 0 else ("not solved" if n == 1 else "none solved")
    else:
        told = f"{round(solved):,} solved"
    return f"{earlier.route} {often}, {told}"


def _interval(c: Candidate, of: str) -> str:
    return "" if c.interval is None else f" (90% interval for {of}: {c.interval[0]:.0%} to {c.interval[1]:.0%})"


def _cost_details(c: Candidate) -> list[str]:
    lines = []
    if c.cost_interval is not None:
        low, high = map(show_dollars, c.cost_interval)
        leans = ", which leans on its model and its harness as far as its runs are few" * (c.cost_basis == "route")
        lines.append(f"90% interval of the expected cost: {low} to {high}{leans}.")
    if c.seconds is not None and c.seconds_interval is not None:
        low, high = (f"{s:,.0f}" for s in c.seconds_interval)
        lines.append(f"Expected time: {c.seconds:,.0f} seconds per task (90% interval: {low} to {high}).")
    return lines


def _evidence(c: Candidate, seen: SuiteCounts) -> str:
    e = c.evidence
    own = f"{_count(e.pair, 'run')} of this pair" if c.observed else "This pair was never run"
    if any(seen):
        told = [_count(n, what) for n, what in zip(seen, ("public suite", "other suite of yours"), strict=True) if n]
        report = "reports" if sum(seen) == 1 else "report"
        own = f"{own if c.observed else 'This pair is unrun here'}, {' and '.join(told)} {report} it"
    return f"{own}; {_count(e.model, 'run')} of its model and {e.harness} of its harness stand behind it."


def _against_runner_up(decision: Decision) -> list[str]:
    numbers = comparison(decision)
    if not numbers:
        hidden = decision.n_candidates - 1
        return [
            f"{_count(hidden, 'other candidate')} ranked below it." if hidden > 0 else "There was no other candidate."
        ]
    best, other = decision.ranked[:2]
    cost = "" if other.cost is None else f" at {show_dollars(other.cost)}"
    gap = numbers["gap_success"] * 100
    lines = [f"Runner-up: {other.route} with {other.success:.0%}{cost} ({gap:+.1f} points for the choice)."]
    if numbers["held_by_incumbent"]:
        return [*lines, "The choice is the incumbent: no candidate is better by the margin with enough probability."]
    if numbers["switch_cost_weight"] is None:
        return [*lines, f"The runner-up would need {numbers['gap_value']:.3f} more success to be chosen."]
    side = "above" if best.merit > other.merit else "below"
    even = _two_digits(numbers["switch_cost_weight"])
    return [*lines, f"A cost weight {side} about {even} would put the runner-up first of the two."]


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _two_digits(value: float) -> str:
    return f"{value:.{max(0, 1 - math.floor(math.log10(value)))}f}"
