"""The book of orders: records which cells were suggested, and tells which of them have come back.

A JSON Lines file, one line per suggested cell, replaced in one step. Nothing is ever struck out of it: what has come
back is seen in the outcomes themselves, so that results may come in any order, in parts and twice.

    open       no outcome of the cell yet
    done       there is an outcome with a score
    failed     since it was ordered, only outcomes without one came (infra_error, unknown): it may be suggested again
    expired    open for so long that nobody seems to be running it: it may be suggested again
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hmrouter.errors import InputError, UsageError
from hmrouter.files import atomic_write, sole_writer
from hmrouter.probe.batch import Suggestion
from hmrouter.types import Route

CellKey = tuple[str, str, Route]
"""Suite, task id, route."""


@dataclass(frozen=True, slots=True)
class Order:
    """One suggested cell."""

    suite: str
    task: str
    route: str
    when: str
    """When it was suggested, in ISO format, UTC."""
    gain: float
    cost: float | None
    failures: int
    """Outcomes without a score that the cell had when it was ordered."""

    @property
    def key(self) -> CellKey:
        """Suite, task and route of the ordered cell."""
        return self.suite, self.task, Route.parse(self.route)


@dataclass(frozen=True, slots=True)
class Account:
    """The orders of one suite, by what became of them; each cell counts once, as it was ordered last."""

    open: tuple[Order, ...]
    done: tuple[Order, ...]
    failed: tuple[Order, ...]
    expired: tuple[Order, ...]

    def __str__(self) -> str:
        total = sum(len(getattr(self, f.name)) for f in fields(self))
        if not total:
            return "No run was suggested yet"
        rest = ", ".join(f"{n} {f.name}" for f in fields(self)[2:] if (n := len(getattr(self, f.name))))
        return f"{len(self.done)} of {total} suggested runs have come back; still out: {len(self.open)}" + (
            f" ({rest}: may be suggested again)" if rest else ""
        )


class Orders:
    """The book of orders in a file; a file that is not there is an empty book."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def read(self) -> list[Order]:
        """Return all orders, oldest first."""
        try:
            lines = self.path.read_text(encoding="utf-8-sig").split("\n")  # other breaks may stand in a name
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as e:
            reason = getattr(e, "strerror", None) or "it is not UTF-8 text"
            raise InputError(f"cannot read the orders in {self.path}: {reason}", hint="other_orders") from e
        return [self._parsed(line, number) for number, line in enumerate(lines, 1) if line.strip()]

    def append(self, orders: Iterable[Order]) -> None:
        """Add orders, all or none; one process at a time."""
        with sole_writer(self.path):
            lines = [json.dumps(asdict(order), ensure_ascii=False) for order in (*self.read(), *orders)]
            atomic_write(self.path, "".join(f"{line}\n" for line in lines).encode())

    def account(
        self, suite: str, done: Collection[CellKey], failures: Mapping[CellKey, int], expire_days: float, now: datetime
    ) -> Account:
        """Sort a suite's orders by what became of them.

        `done`: the cells with a score. `failures`: how many outcomes without a score each cell has.
        """
        if not 0.0 <= expire_days <= 36_500.0:  # also refuses NaN
            raise UsageError("is not a number of days from 0 to 36500", argument="expire_days", value=expire_days)
        last = {order.key: order for order in self.read() if order.suite == suite}
        parts: dict[str, list[Order]] = {f.name: [] for f in fields(Account)}
        for key, order in last.items():
            if key in done:
                parts["done"].append(order)
            elif failures.get(key, 0) > order.failures:
                parts["failed"].append(order)
            elif now - datetime.fromisoformat(order.when) > timedelta(days=expire_days):
                parts["expired"].append(order)
            else:
                parts["open"].append(order)
        return Account(**{name: tuple(part) for name, part in parts.items()})

    def _parsed(self, line: str, number: int) -> Order:
        try:
            content = json.loads(line)
            order = Order(**{f.name: content[f.name] for f in fields(Order)})
            texts = (order.suite, order.task, order.route, order.when)
            numbers = (order.gain, order.failures, 0 if order.cost is None else order.cost)
            if not all(type(t) is str for t in texts) or not all(type(n) in (int, float) for n in numbers):
                raise ValueError("suite, task, route and when are texts; gain, cost and failures are numbers")
            if datetime.fromisoformat(order.when).tzinfo is None or not order.key:
                raise ValueError("when has no time zone")
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError, UsageError) as e:
            raise InputError(f"line {number} of {self.path} is not an order ({e})", hint="mend_orders") from e
        return order


def ordered(suggestions: Sequence[Suggestion], failures: Mapping[CellKey, int], now: datetime) -> list[Order]:
    """Make orders for suggested runs; `failures`: how many outcomes without a score each cell has."""
    when = now.astimezone(UTC).isoformat(timespec="seconds")
    return [
        Order(*s.task.key, str(s.route), when, s.gain, s.cost, failures.get((*s.task.key, s.route), 0))
        for s in suggestions
    ]
