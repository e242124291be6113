"""Input that is not what it should be: one clear line, the right exit code, everything else as it was."""

from __future__ import annotations

import gzip
import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Refused = Callable[..., str]
Unchanged = Callable[[], AbstractContextManager[None]]

HEADER = b"task,model,harness,score\n"
MANY = b"".join(b"t%d,m,h,1\n" % i for i in range(5000))  # more than one batch of the store
LOGS = {
    "score 1.7": (HEADER + b"a,m,h,1.7\n", ("line 2", "score 1.7 is outside 0 to 1")),
    "score 1.7 late": (HEADER + MANY + b"a,m,h,1.7\n", ("line 5002", "score 1.7 is outside 0 to 1")),
    "score maybe": (HEADER + b"a,m,h,maybe\n", ("line 2", "score 'maybe' is not a number from 0 to 1")),
    "missing column": (b"task,model,score\na,m,1\n", ("no column for harness", "found task, model, score", "expected")),
    "duplicate header": (b"task,model,harness,score,score\na,m,h,1,1\n", ("column 'score' appears twice",)),
    "binary file": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), ("no known log format recognised; known are",)),
    "truncated gzip": (gzip.compress(HEADER + MANY)[:-50], ("the gzip data is truncated", "copy or download")),
    "10 MB in one cell": (HEADER + b'a,m,h,"' + b"x" * 10_000_000 + b'"\n', ("line 2", "may hold 1 MiB")),
}


@pytest.mark.parametrize(("content", "says"), LOGS.values(), ids=LOGS.keys())
def test_a_bad_log_is_refused_whole(
    folder: Path, refused: Refused, unchanged: Unchanged, content: bytes, says: tuple[str, ...]
) -> None:
    (folder / "bad.log").write_bytes(content)
    with unchanged():
        line = refused("import", "bad.log", outside=True)
    assert line.startswith("error: bad.log")
    assert [part for part in says if part not in line] == []
    assert len(line) < 700


def test_a_bad_first_log_makes_no_store(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "bad.csv").write_bytes(LOGS["score 1.7"][0])
    refused("import", "bad.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_logs_before_a_bad_one_are_kept(folder: Path, inside: Cli) -> None:
    (folder / "good.csv").write_bytes(HEADER + b"new,m,h,1\n")
    (folder / "bad.csv").write_bytes(LOGS["score maybe"][0])
    done = inside("import", "good.csv", "bad.csv")
    assert done.returncode == 1
    assert done.stdout.startswith("good.csv: 1 outcome, 1 new")
    assert "bad.csv line 2: score 'maybe'" in done.stderr
    assert "1 outcome, 0 new" in inside("import", "good.csv").stdout


NOWHERE = {
    "a path that is not there": (
        "nowhere.csv",
        "nowhere.csv: does not exist; give a log, an archive or a folder of logs",
    ),
    "a name that is too long": ("x" * 300, "cannot be read: File name too long"),
    "an empty folder": ("empty", "empty: no known log format recognised"),
    "a folder without benchmarks": ("other", "other: no known log format recognised"),
}


@pytest.mark.parametrize(("path", "says"), NOWHERE.values(), ids=NOWHERE.keys())
def test_nothing_to_import(folder: Path, refused: Refused, unchanged: Unchanged, path: str, says: str) -> None:
    (folder / "empty").mkdir()
    (folder / "other" / "inside").mkdir(parents=True)
    with unchanged():
        assert says in refused("import", path)


ASKED = {
    "no route under the cap": (
        ["--max-cost", "0.01"],
        1,
        "no route of 4 costs at most $0.01 per task; the cheapest is codex:gpt-5 at about $0.10; raise --max-cost",
    ),
    "unknown route": (["--allow", "codexx:gpt-5"], 2, "'codexx:gpt-5' is not in the pool; did you mean 'codex:gpt-5'?"),
    "unknown harness": (["--allow", "harness=codexx"], 2, "harness 'codexx' is not in the pool; did you mean 'codex'?"),
    "unknown model denied": (["--deny", "model=gtp-5"], 2, "model 'gtp-5' is not in the pool; did you mean 'gpt-5'?"),
    "not a rule": (["--allow", "codex"], 2, "'codex' is not a rule; write model=NAME, harness=NAME,NAME or"),
    "everything denied": (["--deny", "model=gpt-5,claude-opus-4-5"], 1, "none of the 4 routes of the pool is left"),
    "empty pool": (["--pool", "empty.toml"], 1, "the pool file empty.toml: the pool is empty; give 'routes'"),
    "pool that is not there": (["--pool", "no.toml"], 1, 'No such file or directory; write one that holds routes = ["'),
    "pool that is no TOML": (["--pool", "runs.csv"], 1, "the pool file runs.csv is not a TOML file"),
    "negative cap": (["--max-cost", "-1"], 2, "--max-cost -1.0 is not a finite number of at least 0"),
    "cap that is no number": (["--max-cost", "nan"], 2, "--max-cost nan is not a finite number"),
    "endless weight": (["--cost-weight", "inf"], 2, "--cost-weight inf is not a finite number"),
    "nothing to show": (["--top", "0"], 2, "--top 0 is not at least 1"),
    "another embedder": (["--embedder", "minilm"], 1, "the embedder 'lsa', not 'minilm'; leave --embedder out"),
    "no router": (["--router", "no.hmr"], 1, "no router file no.hmr; make one with: hmrouter train --out no.hmr"),
    "folder for a router": (["--router", "."], 1, ". is not a file; give a router file"),
}


@pytest.mark.parametrize(("options", "code", "says"), ASKED.values(), ids=ASKED.keys())
def test_what_cannot_be_routed(folder: Path, refused: Refused, options: list[str], code: int, says: str) -> None:
    (folder / "empty.toml").write_text("routes = []\n")
    assert says in refused("route", "Fix the login", *options, code=code)


@pytest.mark.parametrize("name", ["no route under the cap", "unknown route", "empty pool", "another embedder"])
def test_what_cannot_be_routed_in_a_process_of_its_own(folder: Path, refused: Refused, name: str) -> None:
    (folder / "empty.toml").write_text("routes = []\n")
    options, code, says = ASKED[name]
    assert says in refused("route", "Fix the login", *options, code=code, outside=True)


def test_no_known_costs_and_a_cap(tmp_path: Path, inside: Cli, refused: Refused) -> None:
    (tmp_path / "runs.csv").write_bytes(HEADER + b"a,gpt-5,codex,1\nb,gpt-5,codex,0\n")
    assert inside("import", "runs.csv").returncode == 0
    assert inside("train", "--scorer", "fixed").returncode == 0
    assert "none of the 1 routes has a known cost" in refused("route", "x", "--max-cost", "1")


class Harmful:
    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("harmed",)


def _truncated(folder: Path) -> None:
    (folder / "bad.hmr").write_bytes((folder / "router.hmr").read_bytes()[:-100])


def _half(folder: Path) -> None:
    whole = (folder / "router.hmr").read_bytes()
    (folder / "bad.hmr").write_bytes(whole[: len(whole) // 4])


def _corrupt(folder: Path) -> None:
    whole = bytearray((folder / "router.hmr").read_bytes())
    whole[40:60] = b"\xff" * 20
    (folder / "bad.hmr").write_bytes(whole)


def _foreign(folder: Path) -> None:
    save_file({"weight": np.zeros(3)}, folder / "bad.hmr")


ROUTERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (_truncated, "bad.hmr is not a whole router file"),
    "half": (_half, "bad.hmr is not a whole router file"),
    "corrupt": (_corrupt, "bad.hmr is not a whole router file"),
    "foreign": (
        _foreign,
        "bad.hmr is a safetensors file, but not a router; give a router file, made with: hmrouter train",
    ),
    "empty": (lambda folder: (folder / "bad.hmr").touch(), "bad.hmr is not a whole router file"),
    "text": (lambda folder: shutil.copy(folder / "runs.csv", folder / "bad.hmr"), "is not a whole router file"),
    "a store": (lambda folder: shutil.copy(folder / "hmrouter.db", folder / "bad.hmr"), "is not a whole router file"),
    "pickle": (lambda folder: (folder / "bad.hmr").write_bytes(pickle.dumps(Harmful())), "is not a whole router file"),
}


@pytest.mark.parametrize(("damage", "says"), ROUTERS.values(), ids=ROUTERS.keys())
def test_a_router_file_that_is_none(
    folder: Path, refused: Refused, damage: Callable[[Path], object], says: str
) -> None:
    damage(folder)
    assert says in refused(
        "route", "Fix the login", "--router", "bad.hmr", outside=damage in (_truncated, _corrupt, _foreign)
    )
    assert not (folder / "harmed").exists()


def test_a_store_with_nothing_in_it(tmp_path: Path, refused: Refused) -> None:
    assert "store sqlite:///hmrouter.db does not exist; make it with: hmrouter import PATH" in refused("train")
    (tmp_path / "hmrouter.db").touch()
    assert "holds no outcomes; make it with: hmrouter import PATH" in refused("train")
    assert not (tmp_path / "router.hmr").exists()


def test_a_store_in_which_nothing_counts(tmp_path: Path, inside: Cli, refused: Refused) -> None:
    (tmp_path / "runs.csv").write_bytes(b"task,model,harness,score,status\na,gpt-5,codex,,infra_error\n")
    assert inside("import", "runs.csv").returncode == 0
    line = refused("train", "--history", "none")
    assert "there is no outcome with a score to learn from (1 have status infra_error or unknown)" in line


TRAINING = {
    "unknown scorer": (["--scorer", "hmm"], 2, "scorer 'hmm' is not known; did you mean 'hm'?"),
    "unknown embedder": (["--embedder", "lsaa"], 2, "embedder 'lsaa' is not known; did you mean 'lsa'?"),
    "unknown suite": (["--suite", "defautl"], 2, "did you mean 'default'?"),
    "no store address": (["--store", "runs.db"], 2, "'runs.db' is not a store address; write sqlite:///runs.db"),
    "descriptions that are not there": (["--harnesses", "no.toml"], 1, "cannot read no.toml: No such file"),
}


@pytest.mark.parametrize(("options", "code", "says"), TRAINING.values(), ids=TRAINING.keys())
def test_what_cannot_be_trained(
    folder: Path, refused: Refused, unchanged: Unchanged, options: list[str], code: int, says: str
) -> None:
    with unchanged():
        assert says in refused("train", *options, code=code)


DECISIONS = {
    "not there": (["nowhere.json"], None, "cannot read the decision nowhere.json: No such file"),
    "not JSON": (["runs.csv"], None, "this is not a decision (Expecting value"),
    "another JSON": (["-"], "{}", "('ranked' is missing); give what `hmrouter route --json` printed"),
    "nested without end": (["-"], "[" * 100_000, "this is not a decision (maximum recursion depth"),
    "nothing": (["-"], "", "this is not a decision"),
}


@pytest.mark.parametrize(("arguments", "given", "says"), DECISIONS.values(), ids=DECISIONS.keys())
def test_what_cannot_be_explained(
    folder: Path, refused: Refused, arguments: list[str], given: str | None, says: str
) -> None:
    assert says in refused("explain", *arguments, input=given)


def test_text_that_is_not_unicode(folder: Path, refused: Refused) -> None:
    assert "the task is not UTF-8 text" in refused("route", os.fsdecode(b"Fix \xff\xfe"))
    assert "the task is not UTF-8 text" in refused("route", "-", input="Löse es".encode("latin-1"))


def test_a_text_that_is_too_long(folder: Path, refused: Refused) -> None:
    assert "the task has 1,100,000 characters; the limit is 1,048,576" in refused(
        "route", "-", input="Fix it. !!!" * 100_000
    )
