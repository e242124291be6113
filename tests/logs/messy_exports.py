"""Exports as people's tools write them, all made of the same executions."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hmrouter.names import Names


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
