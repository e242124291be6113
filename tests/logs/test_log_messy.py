"""Thirty messy files, as people's exports look, each with what is understood of it.

All of them are made of the same outcomes. So what is read can be compared with what was meant, and every file is also
met renamed, grown, corrected, under other names, and after all the others: no outcome counts twice.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from messy_exports import (
    CORRECTED,
    GROWN,
    OTHER_NAMES,
    RUNS,
    Run,
    bigquery,
    excel_accounting,
    excel_csv,
    excel_german,
    excel_sep,
    excel_unicode_text,
    excel_workbook,
    jq_compact,
    jq_pretty,
    jq_slurped,
    jq_tsv,
    langfuse_api,
    langfuse_csv,
    langsmith_csv,
    langsmith_runs,
    mlflow_search,
    mlflow_ui,
    notion,
    numbers_with_gaps,
    pandas_index,
    pandas_lines,
    pandas_parquet,
    pandas_records,
    pandas_unnamed,
    powershell,
    psql_copy,
    sheets_percent,
    sheets_titles,
    swe_results,
    verdicts,
    wandb_csv,
)

from hmrouter.errors import LogError
from hmrouter.logs import Notes, read_logs
from hmrouter.names import Names
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome


@dataclass(frozen=True)
class Messy:
    """A file, and what is understood of it."""

    name: str
    make: Callable[[list[Run]], bytes]
    keeps: tuple[str, ...] = ("cost",)
    """What comes through beside task, route and score."""
    says: tuple[str, ...] = ()
    """How the remarks begin that a person reads."""
    proposes: str = ""
    """The mapping that the refusal proposes where the file is not understood as it is."""
    given: dict[str, Any] = field(default_factory=dict)
    """What is given beside that, then."""


COST_READ = "cost '$0.11' is read as 0.11"
MESSY = [
    Messy("excel.csv", excel_csv),
    Messy("excel-german.csv", excel_german, ("cost", "output_tokens", "when"), (
        "cost '0,11' is read as 0.11", "output_tokens '1.204' is read as 1204",
        "when '17.12.2025 10:33:01' is read as")),
    Messy("excel-unicode-text.txt", excel_unicode_text),
    Messy("excel-sep.csv", excel_sep),
    Messy("excel-accounting.csv", excel_accounting, ("cost", "output_tokens", "when"), (
        "cost ' $0.11 ' is read as 0.11", "output_tokens '1,204' is read as 1204",
        "when '12/17/2025 10:33:01 AM' is read")),
    Messy("sheets-titles.csv", sheets_titles, says=("{file}: the header is on line 3",)),
    Messy("sheets-percent.csv", sheets_percent, says=(COST_READ, "when '17/12/2025' is read as 2025-12-17")),
    Messy("numbers-with-gaps.csv", numbers_with_gaps, (), (
        "cost '€3' is left out: it is no number", "seconds 'n/a' is read as unknown")),
    Messy("notion.csv", notion, ("cost", "when"), (
        COST_READ, "when 'December 17,...5 10:33:01 AM' is read as 2025-12-17")),
    Messy("pandas-index.csv", pandas_index, ("cost", "output_tokens")),
    Messy("pandas-unnamed.csv", pandas_unnamed),
    Messy("pandas-records.json", pandas_records, ("cost", "when"), ("when 1765967581000 is read as 2025-12-17",)),
    Messy("pandas-lines.jsonl", pandas_lines, says=("seconds nan is read as unknown",)),
    Messy("pandas.parquet", pandas_parquet),
    Messy("psql-copy.csv", psql_copy, ("cost", "when")),
    Messy("bigquery.csv", bigquery, ("cost", "when"), ("when '2025-12-17 10:33:01 UTC' is read as 2025-12-17",)),
    Messy("langfuse.csv", langfuse_csv, ("cost", "seconds", "when"),
          proposes="task=name,model=providedModelName,score=correctness",
          given={"mapping": {"cost": "totalCost", "seconds": "latency", "when": "timestamp"}, "harness": "Codex"}),
    Messy("langfuse-api.json", langfuse_api,
          proposes="task=name,model=metadata.model,harness=metadata.agent,score=metadata.correct",
          given={"mapping": {"cost": "totalCost"}}),
    Messy("langsmith.csv", langsmith_csv, ("cost", "seconds"), ("status 'success' is read as ok",),
          "task=reference_example_id,model=metadata.model,harness=metadata.agent,score=feedback.correctness",
          {"mapping": {"cost": "total_cost", "seconds": "latency"}}),
    Messy("langsmith-runs.jsonl", langsmith_runs, ("cost", "when"), ("status 'success' is read as ok",),
          "task=reference_example_id,model=extra.metadata.ls_model_name,harness=extra.metadata.agent",
          {"mapping": {"score": "feedback_stats.correctness.avg", "cost": "total_cost", "when": "start_time"}}),
    Messy("wandb.csv", wandb_csv, ("cost", "seconds"), proposes="harness=agent,score=success",
          given={"mapping": {"seconds": "Runtime"}}),
    Messy("mlflow-search.csv", mlflow_search, says=("status 'FINISHED' is read as ok",),
          proposes="task=params.task,model=params.model,harness=params.harness,score=metrics.score",
          given={"mapping": {"cost": "metrics.cost_usd"}}),
    Messy("mlflow-ui.csv", mlflow_ui, ("seconds", "when"),
          ("seconds '12.5s' is read as 12.5", "status 'FINISHED' is read as ok"),
          "harness=agent,score=passed", {"mapping": {"seconds": "Duration", "when": "Start Time"}}),
    Messy("swe-results.csv", swe_results, proposes="model=model_name,harness=agent,score=resolved"),
    Messy("verdicts.tsv", verdicts, proposes="task=Ticket,model=LLM,harness=Scaffold,score=Verdict"),
    Messy("jq-compact.jsonl", jq_compact),
    Messy("jq-pretty.json", jq_pretty),
    Messy("jq-slurped.json", jq_slurped),
    Messy("powershell.csv", powershell, says=("{file}: the header is on line 2",)),
    Messy("runs.csv.gz", lambda runs: gzip.compress(excel_sep(runs), mtime=0)),
]  # fmt: skip
REFUSED = [
    ("workbook.xlsx", excel_workbook, "is a workbook of a spreadsheet program; save its sheet as CSV"),
    ("jq.tsv", jq_tsv, "the first line looks like a row: put the names of the columns above it"),
]
messy = pytest.mark.parametrize("file", MESSY, ids=[each.name for each in MESSY])


def read(path: Path, file: Messy, notes: Notes | None = None, names: Names | None = None) -> list[Outcome]:
    proposed = dict(pair.split("=") for pair in file.proposes.split(",") if pair)
    options = file.given | {"mapping": proposed | file.given.get("mapping", {})}
    return list(read_logs(path, notes=notes, names=names, **options))


def write(folder: Path, file: Messy, runs: list[Run], name: str = "") -> Path:
    path = folder / (name or file.name)
    path.write_bytes(file.make(runs))
    return path


def kept_by(file: Messy, runs: list[Run]) -> list[Run]:
    """The export of Langfuse holds the executions of one harness."""
    return [r for r in runs if file.given.get("harness") in (None, r.harness)]


def test_there_are_thirty_and_two_that_cannot_be_read() -> None:
    assert (len({file.name for file in MESSY}), len(REFUSED)) == (30, 2)


@messy
def test_what_is_understood(tmp_path: Path, file: Messy) -> None:
    path, notes = write(tmp_path, file, RUNS), Notes()
    if file.proposes:
        with pytest.raises(LogError) as refused:
            list(read_logs(path))
        assert f"the mapping {file.proposes} may be what is meant" in str(refused.value)
    understood = read(path, file, notes)
    meant = kept_by(file, RUNS)
    assert [(o.task.id, o.route.spelled, o.score) for o in understood] == [
        (r.task, (r.model, r.harness), r.score) for r in meant
    ]
    named = {"output_tokens": "tokens"}
    for kept in ("cost", "output_tokens", "seconds"):
        expected = [getattr(r, named.get(kept, kept)) if kept in file.keeps else None for r in meant]
        assert [getattr(o, kept) for o in understood] == expected
    if "when" in file.keeps:
        assert [o.when.replace(microsecond=0) for o in understood if o.when] == [r.when for r in meant]
    told = [remark for remark in notes.remarks if not any(remark.startswith(s.format(file=path)) for s in file.says)]
    assert told == []
    assert len(notes.remarks) == len(file.says)


@messy
def test_no_outcome_counts_twice(tmp_path: Path, file: Messy) -> None:
    meant, more = len(kept_by(file, RUNS)), len(kept_by(file, GROWN)) - len(kept_by(file, RUNS))
    with OutcomeStore("sqlite://") as store:
        assert store.add(read(write(tmp_path, file, RUNS), file)).new == meant
        renamed = write(tmp_path, file, RUNS, f"copy of {file.name}")
        assert store.add(read(renamed, file)).new == 0
        assert store.add(read(renamed, file, names=OTHER_NAMES), names_given=True).new == 0
        assert store.add(read(write(tmp_path, file, GROWN), file)).new == more
        assert store.add(read(write(tmp_path, file, GROWN, f"grown {file.name}"), file)).new == 0
        assert store.count() == meant + more


@messy
@pytest.mark.parametrize("name", ["", "final "])
def test_a_correction_is_noted_and_replaces_when_asked(tmp_path: Path, file: Messy, name: str) -> None:
    with OutcomeStore("sqlite://") as store:
        store.add(read(write(tmp_path, file, RUNS), file))
        path = write(tmp_path, file, CORRECTED, name + file.name)
        noted = store.add(read(path, file))
        assert (noted.new, noted.differing) == (0, 1)
        assert store.add(read(path, file), replace=True).replaced == 1
        assert sorted(o.score or 0 for o in store.outcomes()) == sorted(r.score for r in kept_by(file, CORRECTED))


def test_all_of_them_are_twelve_outcomes(tmp_path: Path) -> None:
    with OutcomeStore("sqlite://") as store:
        for file in MESSY:
            store.add(read(write(tmp_path, file, RUNS), file))
        assert store.count() == len(RUNS)


@pytest.mark.parametrize(("name", "make", "says"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_what_cannot_be_understood_is_one_clear_line(
    tmp_path: Path, name: str, make: Callable[[list[Run]], bytes], says: str
) -> None:
    (tmp_path / name).write_bytes(make(RUNS))
    with pytest.raises(LogError) as refused:
        list(read_logs(tmp_path / name))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
