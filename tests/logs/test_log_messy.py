"""Thirty messy files, as people's exports look, each with what is understood of it.

All of them are made of the same outcomes. So what is read can be compared with what was meant, and every file is also
met renamed, grown, corrected, under other names, and after all the others: no outcome counts twice.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmrouter.errors import LogError
from hmrouter.logs import Notes, read_logs
from hmrouter.names import Names
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome


@dataclass(frozen=True)
class Run:
    """An execution, as it was."""

    task: str
    model: str
    harness: str
    solved: bool
    cost: float
    tokens: int
    seconds: float
    when: datetime

    @property
    def score(self) -> int:
        return int(self.solved)


def run(i: int) -> Run:
    model, harness = (("claude-opus-4-5", "Claude Code"), ("GPT-5", "Codex"))[i % 2]
    when = datetime(2025, 12, 17, 10, 33, 1, tzinfo=UTC) + timedelta(days=i // 4)
    return Run(f"T-{i // 2}", model, harness, i % 3 > 0, round(0.11 + i / 7, 2), 1204 + i, 12.5 + i, when)


RUNS = [run(i) for i in range(12)]
GROWN = [*RUNS, run(12), run(13)]
CORRECTED = [RUNS[0], changed(RUNS[1], solved=not RUNS[1].solved), *RUNS[2:]]
OTHER_NAMES = Names({"models": {"our-opus": ["claude-opus-4-5"], "our-gpt": ["gpt-5"]}})


def table(
    header: str, rows: Iterable[Sequence[Any]], separator: str = ",", end: str = "\n", quoted: bool = False
) -> str:
    out = io.StringIO()
    if quoted:
        writer = csv.writer(out, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL)
    else:
        writer = csv.writer(out, delimiter=separator, lineterminator=end)
    writer.writerows([header.split(","), *rows])
    return out.getvalue()


# -- spreadsheets -----------------------------------------------------------------------------------------------------


def excel_csv(runs: list[Run]) -> bytes:
    rows = [(r.task, r.model, r.harness, str(r.solved).upper(), r.cost, "", "") for r in runs]
    return ("\ufeff" + table("Task,Model,Harness,Score,Cost,,", [*rows, [""] * 7, [""] * 7], end="\r\n")).encode()


def excel_german(runs: list[Run]) -> bytes:
    rows = [
        (
            r.task,
            r.model,
            r.harness,
            f"{r.score},0",
            f"{r.cost:.2f}".replace(".", ","),
            f"{r.tokens:,}".replace(",", "."),
            f"{r.when:%d.%m.%Y %H:%M:%S}",
        )
        for r in runs
    ]
    return ("\ufeff" + table("task,model,harness,score,cost,output_tokens,when", rows, ";", "\r\n")).encode()


def excel_unicode_text(runs: list[Run]) -> bytes:
    rows = [(r.task, r.model, r.harness, r.score, r.cost) for r in runs]
    return table("task,model,harness,score,cost", rows, "\t", "\r\n").encode("utf-16")


def excel_sep(runs: list[Run]) -> bytes:
    rows = [(r.task, r.model, r.harness, r.score, r.cost) for r in runs]
    return b"sep=;\r\n" + table("task,model,harness,score,cost", rows, ";", "\r\n").encode()


def excel_accounting(runs: list[Run]) -> bytes:
    rows = [
        (r.task, r.model, r.harness, r.score, f" ${r.cost:,.2f} ", f"{r.tokens:,}", f"{r.when:%m/%d/%Y %I:%M:%S %p}")
        for r in runs
    ]
    return table("task,model,harness,score,cost,output_tokens,when", rows).encode()


def excel_workbook(runs: list[Run]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        book.writestr("xl/worksheets/sheet1.xml", "".join(f"<row>{r.task}</row>" for r in runs))
    return out.getvalue()


def sheets_titles(runs: list[Run]) -> bytes:
    rows = [(r.task, r.model, r.harness, r.score, r.cost) for r in runs]
    return b"Agent runs Q4,,,,\n,,,,\n" + table("Task,Model,Harness,Score,Cost", rows).encode()


def sheets_percent(runs: list[Run]) -> bytes:
    rows = [(r.task, r.model, r.harness, f"{100 * r.score}%", f"${r.cost}", f"{r.when:%d/%m/%Y}") for r in runs]
    return table("task,model,harness,score,cost,when", rows, end="\r\n").encode()


def numbers_with_gaps(runs: list[Run]) -> bytes:
    rows = [(r.task, r.model, r.harness, r.score, ("n/a", "-", "#N/A", "tbd")[i % 4], "€3") for i, r in enumerate(runs)]
    return table("task,model,harness,score,seconds,cost", rows).encode()


def notion(runs: list[Run]) -> bytes:
    rows = [
        (r.task, r.model, r.harness, "Yes" if r.solved else "No", f"${r.cost}", f"{r.when:%B %d, %Y %I:%M:%S %p}")
        for r in runs
    ]
    return ("\ufeff" + table("Task,Model,Harness,Score,Cost,When", rows)).encode()


# -- pandas and databases ---------------------------------------------------------------------------------------------


def pandas_index(runs: list[Run]) -> bytes:
    rows = [(i, r.task, r.model, r.harness, float(r.score), r.cost, float(r.tokens)) for i, r in enumerate(runs)]
    return table(",task,model,harness,score,cost,output_tokens", rows).encode()


def pandas_unnamed(runs: list[Run]) -> bytes:
    rows = [(i, i, r.task, r.model, r.harness, float(r.score), r.cost) for i, r in enumerate(runs)]
    return table("Unnamed: 0,Unnamed: 0,task,model,harness,score,cost", rows).encode()


def pandas_records(runs: list[Run]) -> bytes:
    return json.dumps([plain(r) | {"when": int(r.when.timestamp() * 1000)} for r in runs]).encode()


def pandas_lines(runs: list[Run]) -> bytes:
    return "".join(json.dumps(plain(r) | {"seconds": float("nan")}) + "\n" for r in runs).encode()


def pandas_parquet(runs: list[Run]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([plain(r) | {"__index_level_0__": i} for i, r in enumerate(runs)]), out)
    return out.getvalue()


def psql_copy(runs: list[Run]) -> bytes:
    rows = [
        (r.task, r.model, r.harness, "t" if r.solved else "f", r.cost, f"{r.when:%Y-%m-%d %H:%M:%S}+00") for r in runs
    ]
    return table("task,model,harness,score,cost,when", rows).encode()


def bigquery(runs: list[Run]) -> bytes:
    rows = [
        (r.task, r.model, r.harness, str(r.solved).lower(), r.cost, f"{r.when:%Y-%m-%d %H:%M:%S} UTC") for r in runs
    ]
    return table("task,model,harness,score,cost,when", rows).encode()


# -- tracing and experiment tools -------------------------------------------------------------------------------------


def langfuse_csv(runs: list[Run]) -> bytes:
    header = "id,timestamp,name,userId,sessionId,release,tags,providedModelName,latency,totalCost,correctness"
    rows = [
        (
            f"cm{i:08x}",
            f"{r.when:%Y-%m-%d %H:%M:%S}.963000",
            r.task,
            "",
            "",
            "",
            f'["{r.harness}"]',
            r.model,
            r.seconds,
            r.cost,
            r.score,
        )
        for i, r in enumerate(runs)
        if r.harness == "Codex"
    ]
    return table(header, rows, quoted=True).encode()


def langfuse_api(runs: list[Run]) -> bytes:
    data = [
        {
            "id": f"cm{i:08x}",
            "timestamp": r.when.isoformat(),
            "name": r.task,
            "input": {"messages": []},
            "totalCost": r.cost,
            "latency": r.seconds,
            "metadata": {"model": r.model, "agent": r.harness, "correct": r.solved},
        }
        for i, r in enumerate(runs)
    ]
    return json.dumps({"data": data, "meta": {"page": 1, "totalItems": len(data)}}, indent=2).encode()


def langsmith_csv(runs: list[Run]) -> bytes:
    header = (
        "reference_example_id,inputs,outputs,feedback.correctness,latency,total_cost,status,"
        "metadata.model,metadata.agent"
    )
    rows = [
        (
            r.task,
            '{"question": "?"}',
            '{"answer": "!"}',
            float(r.score),
            r.seconds,
            r.cost,
            "success",
            r.model,
            r.harness,
        )
        for r in runs
    ]
    return table(header, rows).encode()


def langsmith_runs(runs: list[Run]) -> bytes:
    rows = [
        {
            "id": f"{i:032x}",
            "run_type": "chain",
            "reference_example_id": r.task,
            "status": "success",
            "total_cost": r.cost,
            "start_time": r.when.isoformat(),
            "extra": {"metadata": {"ls_model_name": r.model, "agent": r.harness}},
            "feedback_stats": {"correctness": {"n": 1, "avg": float(r.score)}},
        }
        for i, r in enumerate(runs)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def wandb_csv(runs: list[Run]) -> bytes:
    header = "Name,State,Notes,User,Tags,Created,Runtime,Sweep,agent,model,task,cost_usd,success"
    rows = [
        (
            f"jolly-haze-{i}",
            "finished",
            "-",
            "nico",
            "",
            r.when.isoformat(),
            r.seconds,
            "",
            r.harness,
            r.model,
            r.task,
            r.cost,
            str(r.solved).lower(),
        )
        for i, r in enumerate(runs)
    ]
    return table(header, rows, quoted=True).encode()


def mlflow_search(runs: list[Run]) -> bytes:
    header = (
        ",run_id,experiment_id,status,artifact_uri,start_time,metrics.score,metrics.cost_usd,params.model,"
        "params.harness,params.task,tags.mlflow.runName"
    )
    rows = [
        (
            i,
            f"{i:032x}",
            1,
            "FINISHED",
            "file:///mlruns",
            f"{r.when:%Y-%m-%d %H:%M:%S}.250000+00:00",
            float(r.score),
            r.cost,
            r.model,
            r.harness,
            r.task,
            f"bold-ant-{i}",
        )
        for i, r in enumerate(runs)
    ]
    return table(header, rows).encode()


def mlflow_ui(runs: list[Run]) -> bytes:
    header = "Start Time,Duration,Run ID,Name,Source Name,User,Status,agent,model,task,passed"
    rows = [
        (
            f"{r.when:%Y-%m-%d %H:%M:%S}",
            f"{r.seconds}s",
            f"{i:032x}",
            f"ant-{i}",
            "eval.py",
            "me",
            "FINISHED",
            r.harness,
            r.model,
            r.task,
            float(r.score),
        )
        for i, r in enumerate(runs)
    ]
    return table(header, rows).encode()


def swe_results(runs: list[Run]) -> bytes:
    rows = [(r.task, r.model, r.harness, str(r.solved), r.cost) for r in runs]
    return table("instance_id,model_name,agent,resolved,cost", rows).encode()


def verdicts(runs: list[Run]) -> bytes:
    rows = [(r.task, r.model, r.harness, "PASS" if r.solved else "FAIL", r.cost) for r in runs]
    return table("Ticket,LLM,Scaffold,Verdict,cost", rows, "\t").encode()


# -- shells -----------------------------------------------------------------------------------------------------------


def jq_compact(runs: list[Run]) -> bytes:
    return "".join(json.dumps(plain(r), separators=(",", ":")) + "\n" for r in runs).encode()


def jq_pretty(runs: list[Run]) -> bytes:
    return "".join(json.dumps(plain(r), indent=2) + "\n" for r in runs).encode()


def jq_slurped(runs: list[Run]) -> bytes:
    return (json.dumps([plain(r) for r in runs], indent=2) + "\n").encode()


def jq_tsv(runs: list[Run]) -> bytes:
    return "".join(f"{r.task}\t{r.model}\t{r.harness}\t{r.score}\n" for r in runs).encode()


def powershell(runs: list[Run]) -> bytes:
    rows = [(r.task, r.model, r.harness, str(r.solved), r.cost) for r in runs]
    text = table("task,model,harness,score,cost", rows, end="\r\n", quoted=True)
    return f"#TYPE System.Management.Automation.PSCustomObject\r\n{text}".encode("utf-16")


def plain(r: Run) -> dict[str, Any]:
    return {"task": r.task, "model": r.model, "harness": r.harness, "score": r.score, "cost": r.cost}


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
