"""What a decision costs, beside the version before predictions were made once; and what one more outcome costs.

That version is taken from the history of this repository, so that both run on the same machine in the same minute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.history import ROOT, source_of
from benchmarks.ratio import Ratio

BEFORE = "bb7868d"
ROUNDS = 5
MEASURE = """
import json, sys, time
import numpy as np
from hmrouter import Dataset, Outcome, Route, Router, Task
from hmrouter.history.public import shipped

def fitted(n):
    rng = np.random.default_rng(0)
    routes = [Route(f"m{i // 6}", f"h{i % 6}") for i in range(n)]
    made = [
        Outcome(Task(f"t{t}", text=f"Fix bug {t} in the {'parser lexer ui db'.split()[t % 4]} module"), routes[r],
                float(rng.random() < 0.3 + 0.05 * (r % 7)), cost=float(rng.random() + 0.1))
        for t in range(200) for r in rng.choice(n, 5, replace=False)
    ]
    return Router().fit(Dataset(made), history=shipped()), routes

def ms(work, times):
    work()
    start = time.process_time()
    for _ in range(times):
        work()
    return 1000 * (time.process_time() - start) / times

texts = [f"Mend the flaky test number {i} of the scheduler" for i in range(100)]
small, routes = fitted(60)
one = ms(lambda: small.route(texts[0], pool=routes), 40)
large, many = fitted(300)
batch = ms(lambda: large.route_all(texts, pool=many), 4) / len(texts)
slowest = 0.0
for i in range(300):
    outcome = Outcome(Task(f"n{i}", text=texts[i % 100]), many[(7 * i) % 300], float(i % 2), cost=0.5)
    start = time.process_time()
    large.observe(outcome)
    slowest = max(slowest, 1000 * (time.process_time() - start))
print(json.dumps({"one": one, "batch": batch, "observe": slowest}))
"""


def against_the_version_before() -> Iterator[Ratio]:
    """Milliseconds of processor time now over then: of one decision, of one in a batch; and the slowest `observe`."""
    with source_of(BEFORE) as before:
        rounds = [(_measured(ROOT / "src"), _measured(before)) for _ in range(ROUNDS)]
    for name, key, what, most in (
        ("route_one_60", "one", "one decision at 60 routes, now / before", 1 / 3),
        ("route_batch_300x100", "batch", "a decision of a batch of 100 at 300 routes, now / before", 0.1),
    ):
        yield Ratio(name, median(now[key] / then[key] for now, then in rounds), what, at_most=most)
    slowest = median(now["observe"] for now, _ in rounds)
    yield Ratio(
        "observe_ms_at_300", slowest, "slowest of 300 observed outcomes at 300 routes, in milliseconds", at_most=5.0
    )


def _measured(source: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", MEASURE], env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found
