"""Makes the page of a report from a suite that has run."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

from hmrouter import __version__
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Experiment
from hmrouter.bench.report.page import Page, Section
from hmrouter.bench.run.suite import Suite
from hmrouter.bench.run.unit_keys import LIBRARIES, installed


def page_of(suite: Suite, command: str) -> Page:
    """Make everything that the report shows; tables and figures are made of the rows alone."""
    sections = []
    for name in suite.requests:
        experiment: Experiment = EXPERIMENTS.load(name)()
        if rows := suite.rows_of(name):
            tables, figures = experiment.tables(rows), experiment.figures(rows)
            sections.append(Section(name, experiment.title, tables, figures, experiment.headline(rows)))
    requests = list(suite.requests.values())
    numbers = sorted({request.splits for request in requests})
    splits = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
    quick = {"quick": "yes: what each experiment did less of is under Left out"} if suite.quick else {}
    return Page(
        title="hm-router-bench",
        command=command,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        settings={
            "experiments": ", ".join(suite.requests),
            "methods": ", ".join(dict.fromkeys(m for request in requests for m in request.methods)),
            "splits": f"{splits} task splits, 70% training, seed {requests[0].seed}",
            "embedder": requests[0].embedder,
            **quick,
        },
        versions={"python": platform.python_version(), "hmrouter": __version__, **installed(LIBRARIES)},
        data={b.name: b.hash for request in requests for b in request.benchmarks},
        left_out=suite.left_out,
        sections=sections,
        absent=suite.absent(),
    )
