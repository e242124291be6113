"""Comparing on a machine that is busy with other things: interleave, and look at ratios only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import process_time

import numpy as np

Work = Callable[[], object]


def seconds(work: Work, times: int = 1) -> float:
    """Mean seconds of one call on the processor: what other processes take does not count."""
    start = process_time()
    for _ in range(times):
        work()
    return (process_time() - start) / times


def speedup(ours: Work, theirs: Work, rounds: int, times: int = 1) -> float:
    """How many times faster ours is: the median over rounds, in each of which both ran one after the other."""
    ours(), theirs()  # the first call pays for what is kept afterwards
    ratios = []
    for number in range(rounds):
        if number % 2:
            mine, other = seconds(ours, times), seconds(theirs, times)
        else:
            other, mine = seconds(theirs, times), seconds(ours, times)
        ratios.append(other / mine)
    return median(ratios)


def growth(works: Mapping[int, Work], rounds: int) -> float:
    """The exponent of time in size: slope of a log-log fit through the best time of each size."""
    for work in works.values():
        work()
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for size, work in works.items():
            best[size] = min(best[size], seconds(work))
    return float(np.polyfit(np.log(list(best)), np.log(list(best.values())), 1)[0])
