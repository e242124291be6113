"""Numbers that are legal and absurd: refused at the door, with the line, before they break what comes later."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmrouter.decide.pool import read_pool
from hmrouter.errors import InputError, InvalidOutcome, LogError
from hmrouter.logs import read_logs
from hmrouter.names import Names
from hmrouter.toml import TOML_LIMIT
from hmrouter.types import Outcome, Route, Task
from hmrouter.types.outcomes import LARGEST

from .conftest import Limited


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("cost", "1e308", "line 3: cost 1e+308 is larger than 1,000,000,000, which no execution comes near"),
        ("n_trials", str(2**63 - 1), "line 3: n_trials 9223372036854775807 is larger than 1,000,000"),
        ("seconds", "1e300", "line 3: seconds 1e+300 is larger than 10,000,000,000"),
        ("input_tokens", str(2**62), "line 3: input_tokens 4611686018427387904 is larger than"),
    ],
)
def test_absurd_numbers_are_refused_with_their_line(tmp_path: Path, column: str, value: str, said: str) -> None:
    (tmp_path / "a.csv").write_text(f"task,model,harness,score,{column}\nt,m,h,1,1\nu,m,h,1,{value}\n")
    with pytest.raises(LogError) as caught:
        list(read_logs(tmp_path / "a.csv"))
    assert said in str(caught.value)


@pytest.mark.parametrize("field", LARGEST)
def test_the_largest_number_is_allowed(field: str) -> None:
    most = LARGEST[field]
    Outcome(Task("t"), Route("m", "h"), 1.0, **{field: most})  # type: ignore[arg-type]
    with pytest.raises(InvalidOutcome):
        Outcome(Task("t"), Route("m", "h"), 1.0, **{field: most + 1})  # type: ignore[arg-type]


def test_a_store_of_the_largest_numbers_can_be_trained(tmp_path: Path, limited: Limited) -> None:
    columns = ",".join(LARGEST)
    row = ",".join(str(most) for most in LARGEST.values())
    lines = [f"t{i},m{j},h,{(i + j) % 2},{row}" for i in range(6) for j in range(2)]
    (tmp_path / "a.csv").write_text(f"task,model,harness,score,{columns}\n" + "\n".join(lines) + "\n")
    assert limited("import", "a.csv").code == 0
    for command in (["store", "status"], ["train", "--history", "none"], ["route", "Fix it"], ["plan", "Fix it"]):
        ended = limited(*command)
        assert "Traceback" not in ended.err, ended.err
        assert not re.search(r"\s-\d", ended.out), ended.out  # no negative number of runs


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.date64()])
def test_times_beyond_pythons_range_refuse_their_row(tmp_path: Path, kind: pa.DataType) -> None:
    when = pa.array([datetime(2026, 1, 1, tzinfo=UTC), None], pa.timestamp("ms", "UTC")).cast(kind)
    far = pa.array([2**55 if kind != pa.timestamp("us") else 2**60], pa.int64()).cast(kind)
    table = pa.table({
        "task": ["a", "b", "c"], "route": ["h:m"] * 3, "score": [1.0] * 3, "when": pa.concat_arrays([when, far]),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(LogError, match=r"row 3: a value of type .* has no form in Python"):
        list(read_logs(tmp_path / "a.parquet"))


TOML = {
    "deep": (b"a = " + b"[" * 100_000, "is nested too deeply"),
    "huge": (b"# " + b"x" * TOML_LIMIT, "is larger than 1 MiB, the limit"),
    "digits": (b"a = " + b"1" * 50_000, "is not a TOML file: Exceeds the limit"),
    "not UTF-8": (b"a = '\xff'", "is not a TOML file"),
}


@pytest.mark.parametrize("name", TOML)
def test_hostile_toml_is_one_clear_line(tmp_path: Path, name: str) -> None:
    content, said = TOML[name]
    (tmp_path / "a.toml").write_bytes(content)
    for read in (read_pool, Names.from_toml):
        with pytest.raises(InputError) as caught:
            read(tmp_path / "a.toml")
        assert said in str(caught.value)


def test_an_empty_path_is_not_the_current_folder(tmp_path: Path, limited: Limited) -> None:
    (tmp_path / "a.csv").write_text("task,model,harness,score\nt,m,h,1\n")
    ended = limited("import", "")
    assert ended.code == 2
    assert "a path is empty" in ended.err
    assert not (tmp_path / "hmrouter.db").exists()
