"""Says what failed, in as few sentences as possible."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hmrouter.bench.run.work import UnitResult


def sentences(ended: Iterable[UnitResult]) -> list[str]:
    """Write one sentence per experiment, reason and set of methods, with the benchmarks where it happened.

    >>> from hmrouter.bench.experiments.base import Unit
    >>> sentences([UnitResult(Unit("routing", b, "hm", 0), [], "it broke") for b in ("one", "two")])
    ['routing: every method on one, two (2 units): it broke']
    """
    asked: dict[tuple[str, str], set[str]] = {}
    failed: dict[tuple[str, str, str], list[str]] = {}
    for f in ended:
        asked.setdefault((f.unit.experiment, f.unit.benchmark), set()).add(f.unit.method)
        if f.error:
            failed.setdefault((f.unit.experiment, f.error, f.unit.benchmark), []).append(f.unit.method)
    alike: dict[tuple[str, str, str], list[str]] = {}
    for (experiment, error, benchmark), methods in failed.items():
        names = list(dict.fromkeys(methods))
        who = "every method" if set(names) == asked[experiment, benchmark] else _listed(names)
        alike.setdefault((experiment, error, who), []).append(benchmark)
    out = []
    for (experiment, error, who), benchmarks in alike.items():
        n = sum(len(failed[experiment, error, b]) for b in benchmarks)
        units = "1 unit" if n == 1 else f"{n} units"
        out.append(f"{experiment}: {who} on {_listed(benchmarks)} ({units}): {error}")
    return out


def _listed(names: Collection[str], most: int = 4) -> str:
    shown = ", ".join(list(names)[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
