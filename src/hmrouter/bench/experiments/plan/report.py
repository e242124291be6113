"""Tables and figures of `plan`, from its rows alone: everything beside the best fixed pair of the same benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.summaries import distinct, mean_of
from hmrouter.bench.methods import REFERENCES
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series

TRAIN, NOISY, UNAWARE = "train", "train 5%/5%", "train 5%/5% unaware"
KEYS = ("accuracy", "cost_usd", "promised_accuracy", "promised_cost_usd")
Means = Mapping[str, float | None]
RULE = (
    "Settings chosen on training tasks alone, by cross-validation: least cost as a share of Fixed's, a point of "
    "accuracy below Fixed counting as 0.3 of it."
)


class Beside:
    """Means over splits, and where they stand beside Fixed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.benchmarks: list[str] = distinct(rows, "benchmark")
        self.methods: list[str] = [m for m in distinct(rows, "method") if m != "fixed"]
        grouped: dict[tuple[str, str, str], list[Row]] = {}
        for r in rows:
            grouped.setdefault((r["benchmark"], r["method"], r["setting"]), []).append(r)
        self._means: dict[tuple[str, str, str], Means] = {
            place: {k: mean_of(r[k] for r in found) for k in KEYS} for place, found in grouped.items()
        }
        self.priced = [b for b in self.benchmarks if self.of(b, "fixed").get("cost_usd")]

    def of(self, benchmark: str, method: str, setting: str = TRAIN) -> Means:
        """The means of a method; empty if it did not run."""
        return self._means.get((benchmark, method, setting), {})

    def points(self, benchmark: str, method: str, setting: str = TRAIN) -> float | None:
        """Points of accuracy above Fixed."""
        own, fixed = self.of(benchmark, method, setting).get("accuracy"), self.of(benchmark, "fixed").get("accuracy")
        return None if own is None or fixed is None else 100.0 * (own - fixed)

    def share(self, benchmark: str, method: str, setting: str = TRAIN) -> float | None:
        """Cost as a share of Fixed's."""
        own, fixed = self.of(benchmark, method, setting).get("cost_usd"), self.of(benchmark, "fixed").get("cost_usd")
        return own / fixed if own is not None and fixed else None

    def error(self, benchmark: str, method: str, setting: str = TRAIN) -> tuple[float | None, float | None]:
        """Promised less real: points of accuracy, and percent of the cost."""
        m = self.of(benchmark, method, setting)
        accuracy, promised = m.get("accuracy"), m.get("promised_accuracy")
        cost, told = m.get("cost_usd"), m.get("promised_cost_usd")
        return (
            None if accuracy is None or promised is None else 100.0 * (promised - accuracy),
            100.0 * (told / cost - 1.0) if cost and told is not None else None,
        )

    def frontier(self, benchmark: str, method: str) -> list[tuple[float, float]]:
        """(share of Fixed's cost, points above Fixed) of every lambda with a perfect verifier."""
        out = []
        for b, m, setting in self._means:
            if (b, m) == (benchmark, method) and setting.startswith("lambda=") and " " not in setting:
                share, points = self.share(b, m, setting), self.points(b, m, setting)
                out += [(share, points)] if share is not None and points is not None else []
        return out


def headline(rows: Sequence[Row]) -> str:
    """The mean cost and accuracy of plans and single choices; empty if something is missing."""
    beside, said = Beside(rows), []
    for m in ("plan", "single"):
        share = mean_of(beside.share(b, m) for b in beside.priced)
        points = mean_of(beside.points(b, m) for b in beside.priced)
        if share is not None and points is not None:
            said.append(f"{m} {share:.2f}x its cost at {points:+.1f} points")
    return f"Beside the best fixed pair, settings chosen on training tasks: {', '.join(said)}." if said else ""


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Costs and accuracies beside Fixed, promises, and what a verifier that is sometimes wrong leaves of it."""
    beside = Beside(rows)
    methods = beside.methods
    out = []
    if beside.priced and methods:
        body: list[list[Cell]] = [[b, *(beside.share(b, m) for m in methods)] for b in beside.priced]
        body.append(["mean", *(mean_of(beside.share(b, m) for b in beside.priced) for m in methods)])
        note = f"Dollars per test task as a share of what Fixed spends. Perfect verifier, at most 3 attempts. {RULE}"
        columns = ["benchmark", *methods]
        out.append(ReportTable("Cost beside Fixed", columns, body, note, digits=2, footer_rows=1))
    if methods:
        lines: list[list[Cell]] = [[b, *(beside.points(b, m) for m in methods)] for b in beside.benchmarks]
        lines.append(["mean", *(mean_of(beside.points(b, m) for b in beside.benchmarks) for m in methods)])
        note = (
            "Points of accuracy above Fixed for the same settings. What passes the verifier (a score of 0.5 or more) "
            "is delivered with its score; a plan whose attempts all fail delivers nothing. All others are single "
            "attempts, delivered unchecked. Without costs there is no setting to choose: a plan is the most that 3 "
            "attempts buy."
        )
        out.append(ReportTable("Accuracy beside Fixed", ["benchmark", *methods], lines, note, footer_rows=1))
        out.append(_promises(beside))
    wrong = _wrong_verifier(beside)
    return [*out, wrong] if wrong else out


def _promises(beside: Beside) -> ReportTable:
    columns, body = ["benchmark"], [list[Cell]([b]) for b in beside.benchmarks]
    for m in (m for m in beside.methods if m not in REFERENCES):
        columns += [f"{m}, points", f"{m}, % of cost"]
        for line, b in zip(body, beside.benchmarks, strict=True):
            line += beside.error(b, m)
    note = (
        "Promised less real: accuracy in points, cost in percent of the real cost. `plan_independent` multiplies the "
        "failures of single attempts, as if tasks did not differ in difficulty. Perfect verifier, settings as above."
    )
    return ReportTable("Promises", columns, body, note)


def _wrong_verifier(beside: Beside) -> ReportTable | None:
    kinds = [("perfect", TRAIN), ("aware", NOISY), ("unaware", UNAWARE)]
    body: list[list[Cell]] = []
    for b in beside.priced:
        cells: list[Cell] = [b]
        for _, setting in kinds:
            cells += [beside.share(b, "plan", setting), beside.points(b, "plan", setting)]
        body.append(cells)
    if not any(value is not None for line in body for value in line[3:]):
        return None
    numbers = list(zip(*body, strict=True))[1:]
    means = [mean_of(v if isinstance(v, float) else None for v in column) for column in numbers]
    note = (
        "Cost as a share of Fixed's and points above it, of `plan`. The verifier passes 5% of wrong answers and fails "
        "5% of right ones; the aware planner knows it, in its plans and in the choice of its setting, the unaware one "
        "does not."
    )
    columns = ["benchmark", *(f"{kind}, {what}" for kind, _ in kinds for what in ("x cost", "points"))]
    return ReportTable("A verifier that is wrong", columns, [*body, ["mean", *means]], note, digits=2, footer_rows=1)


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Frontiers on the mean of benchmarks, and where the chosen settings end up on each."""
    beside = Beside(rows)
    if not beside.priced:
        return []
    curves, dots = [], []
    for method in beside.methods:
        frontiers = [beside.frontier(b, method) for b in beside.priced]
        points = []
        for share in np.geomspace(0.02, 1.5, 30).tolist():
            best = [max((y for x, y in f if x <= share), default=None) for f in frontiers]
            if (value := mean_of(best)) is not None:
                points.append((share, value))
        curves += [Series(method, *zip(*points, strict=True))] if points else []
        found = [(b, beside.share(b, method), beside.points(b, method)) for b in beside.priced]
        chosen = [(x, y, b) for b, x, y in found if x is not None and y is not None]
        if chosen and method in ("single", "plan"):
            x, y, names = zip(*chosen, strict=True)
            dots.append(Series(method, x, y, labels=names if method == "plan" else ()))
    out = []
    if curves:
        out.append(
            Figure(
                "plan", f"Plans and single choices, mean of {len(beside.priced)} benchmarks", "lines",
                "cost as a share of the best fixed pair's", "points of accuracy above the best fixed pair", curves,
                log_x=True, reference=0.0,
                note="Per benchmark the best setting that costs no more on test tasks. Perfect verifier, 3 attempts.",
            )
        )  # fmt: skip
    if dots:
        out.append(
            Figure(
                "plan_chosen", "Settings chosen on training tasks", "points",
                "cost as a share of the best fixed pair's", "points of accuracy above the best fixed pair", dots,
                reference=0.0, log_x=True, note=RULE,
            )
        )  # fmt: skip
    return out
