"""A small, whole log of every format, as the files it consists of: what `tools/fuzz.py` damages."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

Files = Mapping[str, bytes]
"""Path -> content; a log that is one file has one path, without a folder."""

TABLE = [
    {"task": f"t{i}", "text": f"Fix number {i}", "model": "gpt-5", "harness": "codex", "score": i % 2, "cost": 0.1,
     "n_trials": 2, "when": "2026-01-31T12:00:00Z", "meta": {"family": "a"}}
    for i in range(4)
]  # fmt: skip
IDS = ["a__a-1", "a__a-2"]


def csv_file() -> Files:
    """A table of outcomes."""
    lines = [",".join(TABLE[0])]
    lines += [",".join(str(value) if key != "meta" else "{}" for key, value in row.items()) for row in TABLE]
    return {"runs.csv": _lines(lines)}


def jsonl_file() -> Files:
    """A line of JSON per outcome."""
    return {"runs.jsonl": _lines(map(json.dumps, TABLE))}


def json_table() -> Files:
    """An array of outcomes, as exports have it."""
    return {"runs.json": _json(TABLE)}


def parquet_file() -> Files:
    """A columnar table, with a nested column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    packed = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(TABLE), packed)
    return {"runs.parquet": packed.getvalue()}


def benchmark() -> Files:
    """A benchmark directory."""
    rows = ["query_id,model,harness,score,n_trials,cost_usd,cost_is_route_mean", "q1,gpt-5,codex,0.5,2,0.25,true"]
    return {
        "bench/outcomes.csv": _lines(rows),
        "bench/queries.jsonl": _lines([json.dumps({"query_id": "q1", "text": "Fix it", "meta": {"kind": "full"}})]),
    }


def harbor() -> Files:
    """A job of one trial."""
    trial = {
        "id": "1", "task_name": "sort-list", "trial_name": "sort-list__1", "task_id": {"path": "tasks/sort-list"},
        "config": {"agent": {"name": "codex"}, "trials_dir": "jobs/nightly", "job_id": "job-1"},
        "agent_info": {"name": "codex", "version": "0.9", "model_info": {"name": "gpt-5"}},
        "agent_result": {"n_input_tokens": 900, "n_cache_tokens": 300, "n_output_tokens": 40, "cost_usd": 0.02},
        "verifier_result": {"rewards": {"reward": 1.0}}, "exception_info": None, "started_at": "2026-03-01T10:00:00Z",
        "agent_execution": {"started_at": "2026-03-01T10:00:05Z", "finished_at": "2026-03-01T10:01:35.5Z"},
    }  # fmt: skip
    return {"job/sort-list__1/result.json": _json(trial), "job/config.json": _json({"job_name": "nightly"})}


def terminal_bench() -> Files:
    """A run's results, with its description."""
    trial = {
        "id": "1", "trial_name": "sort-list.1-of-1.r", "task_id": "sort-list", "instruction": "Sort.",
        "is_resolved": True, "failure_mode": "unset", "parser_results": {"it": "passed"}, "total_input_tokens": 500,
        "total_output_tokens": 20, "trial_started_at": "2026-01-02T03:04:05+00:00",
        "recording_path": "r/sort-list/sort-list.1-of-1.r/sessions/agent.cast",
    }  # fmt: skip
    described = {
        "run_id": "r",
        "dataset_name": "tiny",
        "agent_name": "goose",
        "model_name": "anthropic/claude-opus-4-5",
    }
    results = {"id": "1", "results": [trial], "n_resolved": 1, "n_unresolved": 0}
    return {"r/results.json": _json(results), "r/run_metadata.json": _json(described)}


def inspect_log() -> Files:
    """The log of one evaluation."""
    spec = {
        "task_id": "k1", "created": "2026-02-03T04:00:00+00:00", "task": "sums", "solver": "react",
        "model": "openai/gpt-5", "dataset": {"name": "sums"}, "packages": {"inspect_ai": "0.3.1"},
    }  # fmt: skip
    sample = {
        "id": "q1", "epoch": 1, "input": [{"role": "user", "content": "6 x 7?"}], "scores": {"match": {"value": "C"}},
        "model_usage": {"openai/gpt-5": {"input_tokens": 100, "output_tokens": 7}}, "total_time": 12.5, "uuid": "u1",
        "started_at": "2026-02-03T04:05:06+00:00",
    }  # fmt: skip
    return {"log.json": _json({"version": 2, "eval": spec, "plan": {"steps": []}, "samples": [sample, sample]})}


def openhands_index() -> Files:
    """A folder of the OpenHands Index."""
    return {
        "m/metadata.json": _json({"agent_name": "OpenHands", "agent_version": "v1", "model": "GPT-5"}),
        "m/scores.json": _json([{"benchmark": "swe-bench", "cost_per_instance": 0.4}]),
        "m/instance_results/swe-bench.json": _json({"a": {"cost": 0.5, "resolved": True}, "b": {"resolved": False}}),
    }


def openhands_output() -> Files:
    """The folder of a run, with its report."""
    described = {
        "agent_class": "CodeActAgent",
        "llm_config": {"model": "gpt-5"},
        "dataset": "swe",
        "data_split": "test",
    }
    line = {"instance_id": "a__a-1", "test_result": {"git_patch": "diff"}, "metadata": described, "metrics": {}}
    return {"run/output.jsonl": _lines([json.dumps(line)]), "run/report.json": _json(_report())}


def swebench_report() -> Files:
    """An evaluation's report."""
    return {"codex--gpt-5.json": _json(_report())}


def swebench_site() -> Files:
    """The leaderboards' file."""
    entry = {
        "name": "GPT-5", "folder": "run-1", "date": "2025-11-24", "tags": ["Model: gpt-5"],
        "resolved": 50.0, "per_instance_details": {"a": {"resolved": True, "cost": 0.5}, "b": {"resolved": False}},
    }  # fmt: skip
    return {"leaderboards.json": _json({"leaderboards": [{"name": "bash-only", "results": [entry]}]})}


def hal_site() -> Files:
    """A database of HAL's site."""
    run = {
        "benchmark_name": "water", "agent_name": "Agent (o4-mini)", "date": "2025-08-05", "run_id": "w_1",
        "successful_tasks": "['0', '7']", "failed_tasks": "['9']", "total_cost": 6.0, "accuracy": 0.5,
        "model_name": "o4-mini",
    }  # fmt: skip
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE parsed_results ({', '.join(run)})")
        database.execute(f"INSERT INTO parsed_results VALUES ({', '.join('?' * len(run))})", list(run.values()))
        database.commit()
        return {"water.db": database.serialize()}


def hal_upload() -> Files:
    """A run that was handed in to HAL."""
    upload = {
        "config": {"agent_name": "Agent (o4-mini)", "benchmark_name": "water", "date": "2025-08-05", "run_id": "w_1",
                   "agent_args": {"model_name": "openai/o4-mini"}},
        "results": {"accuracy": 0.5, "successful_tasks": ["t1"], "failed_tasks": ["t2"], "total_cost": 6.0,
                    "latencies": {"t1": {"total_time": 30.0}}},
        "raw_eval_results": {"t1": {"reward": 1.0}, "t2": {"reward": 0.0}}, "raw_logging_results": [{"inputs": {}}],
        "total_usage": {"o4-mini": {"prompt_tokens": 1000, "completion_tokens": 50}}, "total_cost": 6.0,
    }  # fmt: skip
    return {"w_UPLOAD.json": _json(upload)}


def workspace_bench() -> Files:
    """Rates of runs."""
    return {"rates.csv": _lines(["id,run_name,passed,total", "3,Codex--GLM-5.1,13,20", "7,Codex--GLM-5.1,0,10"])}


BUILDERS: Mapping[str, Callable[[], Files]] = {
    "benchmark": benchmark, "harbor": harbor, "terminal-bench": terminal_bench, "inspect": inspect_log,
    "openhands-index": openhands_index, "openhands-output": openhands_output, "swebench-report": swebench_report,
    "swebench-site": swebench_site, "hal-site": hal_site, "hal-upload": hal_upload,
    "workspace-bench": workspace_bench, "parquet": parquet_file, "json": json_table, "jsonl": jsonl_file,
    "csv": csv_file,
}  # fmt: skip
"""Format -> a log of it."""


def _report() -> dict[str, Any]:
    return {
        "submitted_instances": 2, "completed_instances": 2, "resolved_instances": 1, "completed_ids": IDS,
        "submitted_ids": IDS, "resolved_ids": IDS[:1], "unresolved_ids": IDS[1:], "error_ids": [],
        "empty_patch_ids": [],
    }  # fmt: skip


def _json(document: object) -> bytes:
    return json.dumps(document).encode()


def _lines(lines: Any) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
