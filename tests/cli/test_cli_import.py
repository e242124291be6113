"""`hmrouter import`: what is read, refused, skipped and told."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmrouter.store import OutcomeStore

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Refused = Callable[..., str]

GOOD = """\
task,text,model,harness,score,cost,status,input_tokens,output_tokens
a,Fix it,gpt-5,codex,1,0.5,ok,,
a,Fix it,claude-opus-4-5,claude-code,0,,ok,200000,10000
b,Do that,gpt-5,codex,,,infra_error,,
"""
BAD = """\
task,model,harness,score
a,gpt-5,codex,1.7
b,gpt-5,codex,1
c,gpt-5,codex,maybe
d,gpt-5,codex,1.7
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a good log and a bad one."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "good.csv").write_text(GOOD)
    (tmp_path / "logs" / "bad.csv").write_text(BAD)
    return tmp_path / "logs"


def kept(folder: Path) -> list[Any]:
    with OutcomeStore(f"sqlite:///{folder / 'hmrouter.db'}", create=False) as store:
        return list(store.outcomes())


def test_a_person_gets_a_summary(tmp_path: Path, logs: Path, inside: Cli) -> None:
    done = inside("import", "logs/good.csv")
    assert done.stdout.splitlines() == [
        "logs/good.csv: 3 outcomes, 3 new (csv: 2 tasks on 2 routes, 75.0% of the grid)",
        "Read 3 outcomes on 2 routes (2 models x 2 harnesses).",
        "Cost: 33.3% reported, 33.3% from tokens, 33.3% unknown.",
        "Status: 2 ok, 1 infra_error.",
        "The store holds 3 outcomes of 2 tasks on 2 routes in 1 suite; 75.0% of the grid is filled.",
        "Next: hmrouter train",
    ]
    assert (done.returncode, done.stderr) == (0, "")
    again = inside("import", "logs/good.csv", "--store", "sqlite:///hmrouter.db")
    assert again.stdout.startswith("logs/good.csv: 3 outcomes, 0 new, 3 known already (csv: ")
    assert "Next" not in again.stdout  # nothing new, nothing to do


def test_tokens_become_dollars(tmp_path: Path, logs: Path, inside: Cli) -> None:
    inside("import", "logs/good.csv")
    by_route = {str(o.route): o for o in kept(tmp_path) if o.task.id == "a"}
    assert by_route["codex:gpt-5"].cost == 0.5
    assert by_route["codex:gpt-5"].token_cost is None
    assert by_route["claude-code:claude-opus-4-5"].cost is None
    assert by_route["claude-code:claude-opus-4-5"].token_cost == pytest.approx(0.2 * 5 + 0.01 * 25)


def test_the_document_has_everything(tmp_path: Path, logs: Path, inside: Cli) -> None:
    done = inside("import", "logs", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    (good,) = report["imported"]
    assert good == {
        "path": "logs/good.csv", "format": "csv", "outcomes": 3, "new": 3, "known": 0, "differing": 0,
        "replaced": 0, "changes": [], "known_as": [], "alike": [],
        "tasks": 2, "routes": 2, "models": 2, "harnesses": 2, "cells": 3, "density": 0.75,
        "cost": {"reported": 1, "from_tokens": 1, "unknown": 1}, "statuses": {"infra_error": 1, "ok": 2},
        "refused": 0, "reasons": [],
    }  # fmt: skip
    (bad,) = report["refused"]
    assert (bad["path"], bad["format"], bad["refused"]) == ("logs/bad.csv", "csv", 3)
    assert bad["reasons"] == [
        {"reason": "score 1.7 is outside 0 to 1", "records": 2, "first": ["line 2", "line 5"]},
        {"reason": "score 'maybe' is not a number from 0 to 1", "records": 1, "first": ["line 4"]},
    ]
    assert report["read"]["outcomes"] == 3
    assert report["store"]["outcomes"] == 3
    assert report["store"]["with_token_cost"] == 1
    assert (report["dry_run"], report["refused_file"]) == (False, None)


def test_a_refused_log_does_not_undo_the_others(tmp_path: Path, logs: Path, inside: Cli) -> None:
    done = inside("import", "nowhere.csv", "logs/bad.csv", "logs/good.csv")
    assert done.returncode == 1
    assert done.stdout.startswith("logs/good.csv: 3 outcomes, 3 new")
    nowhere, bad, count = done.stderr.splitlines()
    assert nowhere == "error: nowhere.csv: does not exist; give a log, an archive or a folder of logs that is there"
    assert bad.startswith("error: logs/bad.csv line 2: score 1.7 is outside 0 to 1; logs/bad.csv line 4: score 'maybe'")
    assert bad.endswith(" (3 bad records); --skip-bad imports the rest")
    assert count == "error: 2 of 3 logs were refused"
    assert len(kept(tmp_path)) == 3
    assert not (tmp_path / "refused.jsonl").exists()


def test_skip_bad_imports_the_rest_and_keeps_what_it_left_out(tmp_path: Path, logs: Path, inside: Cli) -> None:
    done = inside("import", "logs", "--skip-bad", "--refused", "left/out.jsonl")
    assert done.returncode == 1  # a place that cannot be written is told before anything is read
    assert "cannot write left/out.jsonl" in done.stderr
    assert not (tmp_path / "hmrouter.db").exists()
    done = inside("import", "logs", "--skip-bad")
    assert done.returncode == 0
    assert done.stdout.splitlines()[:3] == [
        "logs/bad.csv: 1 outcome, 1 new, 3 refused (csv: 1 task on 1 route, 100.0% of the grid)",
        "  refused 2: score 1.7 is outside 0 to 1 (line 2, line 5)",
        "  refused 1: score 'maybe' is not a number from 0 to 1 (line 4)",
    ]
    assert done.stderr == "note: the refused records are in refused.jsonl\n"
    rows = [json.loads(line) for line in (tmp_path / "refused.jsonl").read_text().splitlines()]
    assert [row["record"]["task"] for row in rows] == ["a", "c", "d"]
    assert rows[0]["error"] == "logs/bad.csv line 2: score 1.7 is outside 0 to 1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hmrouter.db", "logs", "refused.jsonl"]


def test_without_refused_records_there_is_no_file_of_them(tmp_path: Path, logs: Path, inside: Cli) -> None:
    assert inside("import", "logs/good.csv", "--skip-bad").returncode == 0
    assert not (tmp_path / "refused.jsonl").exists()


def test_records_of_a_log_that_is_refused_whole_are_not_among_those_left_out(tmp_path: Path, inside: Cli) -> None:
    (tmp_path / "torn.csv").write_bytes(BAD.encode() + b"e,gpt-5,codex,\xff\n")
    (tmp_path / "bad.csv").write_text(BAD)
    done = inside("import", "torn.csv", "bad.csv", "--skip-bad")
    assert done.returncode == 1
    assert "error: torn.csv line 6: byte 15 (0xff) is not valid UTF-8" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "refused.jsonl").read_text().splitlines()]
    assert [row["error"].partition(" ")[0] for row in rows] == ["bad.csv"] * 3


def test_refused_values_that_json_has_no_word_for_are_kept_as_text(tmp_path: Path, inside: Cli) -> None:
    when = datetime(2026, 1, 31, 12, tzinfo=UTC)
    columns = {"task": ["a"], "route": ["codex:gpt-5"], "score": [2], "cost": [Decimal("0.10")], "when": [when]}
    pq.write_table(pa.table(columns | {"text": [b"\xe4\xbf\xae \xff"]}), tmp_path / "runs.parquet")
    done = inside("import", "runs.parquet", "--skip-bad")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "runs.parquet: 0 outcomes, 0 new, 1 refused (parquet)")
    (row,) = map(json.loads, (tmp_path / "refused.jsonl").read_text().splitlines())
    assert row["record"] == {
        "task": "a", "route": "codex:gpt-5", "score": 2, "cost": "0.10", "when": "2026-01-31T12:00:00+00:00",
        "text": "\u4fee \\xff",
    }  # fmt: skip


def test_what_needs_an_extra_is_one_refused_log_and_the_others_go_on(
    tmp_path: Path, logs: Path, inside: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (logs / "bad.csv").unlink()
    pq.write_table(pa.table({"task": ["a"], "route": ["codex:gpt-5"], "score": [1]}), logs / "a.parquet")
    with zipfile.ZipFile(logs / "b.eval", "w") as archive:
        archive.writestr("header.json", "{}")
    for module in ("pyarrow", "inspect_ai.log"):
        monkeypatch.setitem(sys.modules, module, None)
    done = inside("import", "logs")
    assert done.returncode == 1
    assert done.stdout.startswith("logs/good.csv: 3 outcomes, 3 new")
    needs = "needs an optional dependency; install it with: pip install"
    assert done.stderr.splitlines() == [
        f"error: logs/a.parquet: reading Parquet {needs} '.[parquet]' in a checkout",
        f"error: logs/b.eval: reading Inspect's .eval logs {needs} '.[inspect]' in a checkout",
        "error: 2 of 3 logs were refused",
    ]


def test_one_suite_for_several_benchmarks_is_wrong_usage(tmp_path: Path, logs: Path, refused: Refused) -> None:
    for name in ("one", "two"):
        (logs / name).mkdir()
        (logs / name / "outcomes.csv").write_text("query_id,model,harness,score\nq,gpt-5,codex,1\n")
        (logs / name / "queries.jsonl").write_text('{"query_id": "q"}\n')
    line = refused("import", "nowhere", "logs", "--suite", "x", code=2)
    assert "one suite 'x' for 2 benchmarks would mix their tasks" in line
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]  # not even the store was made


def test_a_file_name_cannot_forge_a_line(tmp_path: Path, inside: Cli) -> None:
    (tmp_path / "a\nerror: forged.csv").write_text(BAD)
    (tmp_path / "b\nnote: forged.csv").write_text(GOOD.replace("status", "mood").replace("infra_error", ""))
    done = inside("import", ".", "--skip-bad")
    assert not [line for line in (done.stdout + done.stderr).splitlines() if "forged" in line.split(": ")[1:2]]
    assert r"b\nnote: forged.csv: columns not used: mood" in done.stderr


def test_a_dry_run_writes_nothing(tmp_path: Path, logs: Path, inside: Cli) -> None:
    done = inside("import", "logs", "--dry-run", "--skip-bad")
    assert done.returncode == 0
    assert "logs/good.csv: 3 outcomes, 3 new" in done.stdout
    assert done.stdout.splitlines()[-1] == "Dry run: nothing was written."
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    inside("import", "logs/good.csv")
    before = kept(tmp_path)
    (logs / "good.csv").write_text(GOOD.replace("b,Do", "c,Do"))
    report = json.loads(inside("import", "logs/good.csv", "--dry-run", "--json").stdout)
    assert (report["dry_run"], report["imported"][0]["new"], report["store"]) == (True, 1, None)
    assert kept(tmp_path) == before


def test_known_outcomes_that_say_something_else_are_told(tmp_path: Path, inside: Cli) -> None:
    header = "task,model,harness,score,run\n"
    (tmp_path / "runs.csv").write_text(header + "a,gpt-5,codex,1,r1\nb,gpt-5,codex,1,r1\n")
    inside("import", "runs.csv")
    (tmp_path / "runs.csv").write_text(header + "a,gpt-5,codex,0,r1\nb,gpt-5,codex,1,r1\n")
    done = inside("import", "runs.csv")
    assert done.returncode == 0
    assert done.stderr.startswith(
        "warning: runs.csv: 1 outcome in the store already with other values, and these stay: "
        "a on codex:gpt-5: score 1 -> 0. To take the new ones: --replace"
    )
    assert {o.task.id: o.score for o in kept(tmp_path)} == {"a": 1.0, "b": 1.0}


def test_new_names_and_what_they_look_like_are_told(tmp_path: Path, inside: Cli) -> None:
    (tmp_path / "runs.csv").write_text("task,model,harness,score\na,kimi-k-2-55,codx,1\nb,our-own,codex,1\n")
    (tmp_path / "bad.csv").write_text("task,model,harness,score\na,never-imported,codex,2\n")
    done = inside("import", "runs.csv", "bad.csv")
    assert done.stderr.splitlines()[1:4] == [
        "note: models not in the table of known names, kept as they are: kimi-k-2-55, our-own",
        "note: harnesses not in the table of known names, kept as they are: codx",
        "note: codx looks like codex; to count them as one, see: hmrouter names",
    ]
    assert "never-imported" not in done.stdout + done.stderr


@pytest.mark.parametrize("way", ["option", "environment"])
def test_a_table_of_ones_own_names(tmp_path: Path, inside: Cli, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    (tmp_path / "own.toml").write_text('[models]\nour-llama = ["llama-ft-v3"]\n')
    (tmp_path / "runs.csv").write_text("task,model,harness,score\na,Llama_FT-v3,codex,1\n")
    if way == "environment":
        monkeypatch.setenv("HMROUTER_NAMES", "own.toml")
    options = ["--names", "own.toml"] if way == "option" else []
    done = inside("import", "runs.csv", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert [o.route.model for o in kept(tmp_path)] == ["our-llama"]


def test_what_a_log_does_not_name_is_asked_for_and_given(tmp_path: Path, inside: Cli, refused: Refused) -> None:
    report = {
        "total_instances": 2, "submitted_instances": 2, "completed_instances": 2, "resolved_instances": 1,
        "unresolved_instances": 1, "empty_patch_instances": 0, "error_instances": 0,
        "completed_ids": ["x__x-1", "x__x-2"], "incomplete_ids": [], "empty_patch_ids": [],
        "submitted_ids": ["x__x-1", "x__x-2"], "resolved_ids": ["x__x-1"], "unresolved_ids": ["x__x-2"],
        "error_ids": [], "schema_version": 2,
    }  # fmt: skip
    (tmp_path / "codex--gpt-5.run7.json").write_text(json.dumps(report))
    line = refused("import", "codex--gpt-5.run7.json")
    assert "--model" in line
    assert "--harness" in line
    assert "codex--gpt-5" in line
    done = inside("import", "codex--gpt-5.run7.json", "--model", "gpt-5", "--harness", "codex")
    assert done.returncode == 0, done.stderr
    assert {(str(o.route), o.task.id, o.score) for o in kept(tmp_path)} == {
        ("codex:gpt-5", "x__x-1", 1.0),
        ("codex:gpt-5", "x__x-2", 0.0),
    }
    pattern = r"^(?P<harness>\w+)--(?P<model>[^.]+)"
    done = inside("import", "codex--gpt-5.run7.json", "--pattern", pattern, "--json")
    assert json.loads(done.stdout)["imported"][0]["known"] == 2  # the same outcomes


ASKED = {
    "unknown format": (["--format", "cvs"], 2, "format 'cvs' is not known; did you mean 'csv'?"),
    "no mapping": (["--map", "task"], 2, "--map 'task' is not a mapping; write field=column,field=column"),
    "unknown field": (["--map", "tsak=id"], 2, "field 'tsak' is not known; did you mean 'task'?"),
    "no pattern": (["--pattern", "("], 2, "--pattern '(' is not a regular expression"),
    "empty pattern": (["--pattern", ".*"], 2, "it needs (?P<model>...) or (?P<harness>...) or both"),
    "unknown embedder": (["--embedder", "lsaa"], 2, "embedder 'lsaa' is not known; did you mean 'lsa'?"),
    "fitted embedder": (["--no-text", "--embedder", "lsa"], 2, "without texts there is nothing to fit"),
    "no names": (["--names", "no.toml"], 1, "cannot read no.toml: No such file"),
    "no store": (["--store", "runs.db"], 2, "'runs.db' is not a store address"),
}


@pytest.mark.parametrize(("options", "code", "says"), ASKED.values(), ids=ASKED.keys())
def test_wrong_options_are_one_clear_line(
    tmp_path: Path, logs: Path, refused: Refused, options: list[str], code: int, says: str
) -> None:
    assert says in refused("import", "logs/good.csv", *options, code=code)
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_columns_of_ones_own(tmp_path: Path, inside: Cli) -> None:
    (tmp_path / "runs.csv").write_text("ticket,model,harness,resolved\na,gpt-5,codex,true\n")
    done = inside("import", "runs.csv", "--map", "task=ticket, score=resolved")
    assert (done.returncode, done.stderr) == (0, "")
    assert [(o.task.id, o.score) for o in kept(tmp_path)] == [("a", 1.0)]


def test_a_folder_is_walked_and_what_is_no_log_is_told(tmp_path: Path, logs: Path, cli: Cli) -> None:
    (logs / "bad.csv").unlink()
    (logs / "deep").mkdir()
    (logs / "deep" / "more.csv.gz").write_bytes(gzip.compress(GOOD.replace("a,", "z,").encode()))
    (logs / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    done = cli("import", "logs", "--suite", "ours")
    assert done.returncode == 0
    first, second = done.stdout.splitlines()[:2]
    assert first.startswith("logs/deep/more.csv.gz: 3 outcomes, 3 new")
    assert second.startswith("logs/good.csv: 3 outcomes, 3 new")
    assert "note: no log recognised, so not read: logs/picture.png\n" in done.stderr
    assert {o.task.suite for o in kept(tmp_path)} == {"ours"}


def test_texts_can_be_kept_out_of_the_store(tmp_path: Path, logs: Path, inside: Cli) -> None:
    done = inside("import", "logs/good.csv", "--no-text")
    assert done.returncode == 0
    assert "neither texts nor vectors are kept" in done.stderr
    assert {o.task.text for o in kept(tmp_path)} == {""}
    assert all(o.task.text_hash for o in kept(tmp_path))
    files = [path.read_bytes() for path in tmp_path.iterdir() if path.is_file()]
    assert files
    assert not any(b"Fix it" in content for content in files)


def test_vectors_are_kept_in_the_place_of_texts(tmp_path: Path, logs: Path, cli: Cli) -> None:
    """A plug-in embedder of the test's own, installed for the child only."""
    plugin = tmp_path / "site" / "letters"
    (plugin.parent / "letters-1.dist-info").mkdir(parents=True)
    (plugin.parent / "letters-1.dist-info" / "METADATA").write_text("Name: letters\nVersion: 1\n")
    (plugin.parent / "letters-1.dist-info" / "entry_points.txt").write_text(
        "[hmrouter.embedders]\nletters = letters:Letters\n"
    )
    plugin.with_suffix(".py").write_text(
        "import numpy as np\n"
        "from hmrouter.features.base import Embedder\n"
        "from hmrouter.state import State\n"
        "class Letters(Embedder):\n"
        "    name = 'letters'\n"
        "    def embed(self, texts):\n"
        "        open('asked', 'a').write(''.join(t + '\\n' for t in texts))\n"
        "        return np.array([[len(t), t.count('i')] for t in texts], dtype=np.float32).reshape(-1, 2)\n"
        "    def identity(self): return {'name': 'letters', 'dims': 2}\n"
        "    def state(self): return State()\n"
        "    @classmethod\n"
        "    def from_state(cls, state): return cls()\n"
    )
    python_path = os.pathsep.join([str(plugin.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    env = {"PYTHONPATH": python_path.rstrip(os.pathsep)}
    options = ("--no-text", "--embedder", "letters")
    dry = cli("import", "logs/good.csv", *options, "--dry-run", env=env)
    assert (dry.returncode, dry.stderr) == (0, "")
    assert not (tmp_path / "asked").exists()  # a vector may cost money
    done = cli("import", "logs/good.csv", *options, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted((tmp_path / "asked").read_text().splitlines()) == ["Do that", "Fix it"]
    assert {o.task.text for o in kept(tmp_path)} == {""}
    cli("import", "logs/good.csv", *options, env=env)
    assert len((tmp_path / "asked").read_text().splitlines()) == 2  # each text once
    trained = cli("train", "--embedder", "letters", "--scorer", "knn", env=env)
    assert trained.returncode == 0, trained.stderr
    asked = (tmp_path / "asked").read_text().splitlines()
    assert not {"Do that", "Fix it"} & set(asked[2:])  # training found the vectors of texts that are gone


def test_where_a_probe_is_under_way_its_status_is_the_next_step_too(tmp_path: Path, inside: Cli) -> None:
    (tmp_path / "runs.csv").write_text("task,model,harness,score\na,gpt-5,codex,1\n")
    (tmp_path / "more.csv").write_text("task,model,harness,score\nb,gpt-5,codex,1\n")
    assert inside("import", "runs.csv").stdout.endswith("\nNext: hmrouter train\n")
    (tmp_path / "probe-orders.jsonl").touch()
    assert inside("import", "more.csv").stdout.endswith("suggested: hmrouter probe status\n")
