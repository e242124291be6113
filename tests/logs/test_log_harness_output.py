"""What a harness prints is no log of outcomes, and that is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hmrouter.errors import LogError
from hmrouter.logs import Notes, find_logs, read_logs
from hmrouter.logs.harness_output import harness_of

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
REAL = SHARED / "raw" / "harness-output"

OUTPUT = {
    "Claude Code": '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"session_id":"0-1"}',
    "Codex": '{"type":"thread.started","thread_id":"0-1"}\n{"type":"turn.started"}\n',
    "Gemini CLI": '{\n  "session_id": "0-1",\n  "response": "Done",\n  "stats": {}\n}\n',
    "mini-SWE-agent": "This is mini-swe-agent version 9.9.\nBuilding, as told, the agent\n",
    "OpenCode": '{"type":"step_start","timestamp":17,"sessionID":"ses_1","part":{}}\n',
    "OpenHands": "A warning, perhaps\n--JSON Event--\n{}\n",
    "Qwen Code": '[{"type":"system","subtype":"init","uuid":"0-1","session_id":"0-1"}, {"type": "result"}]',
}
SAYS = "does not say whether the task was solved; import the results of what verified it"


@pytest.mark.parametrize("harness", OUTPUT)
def test_the_output_of_each_harness(tmp_path: Path, harness: str) -> None:
    (tmp_path / "out").write_text(OUTPUT[harness])
    assert harness_of(tmp_path / "out") == harness
    with pytest.raises(LogError, match=f"no log in it, but the output of {harness}, which {SAYS}"):
        read_logs(tmp_path / "out")


def test_a_folder_of_it(tmp_path: Path) -> None:
    for harness, text in OUTPUT.items():
        (tmp_path / harness).write_text(text)
    with pytest.raises(LogError) as caught:
        read_logs(tmp_path)
    assert ", ".join(sorted(OUTPUT)) in str(caught.value)


def test_it_may_lie_beside_logs(tmp_path: Path) -> None:
    (tmp_path / "codex.out").write_text(OUTPUT["Codex"])
    (tmp_path / "runs.csv").write_text("task,model,harness,score\nt,m,h,1\n")
    notes = Notes()
    assert [part.path.name for part in find_logs(tmp_path, notes=notes)] == ["runs.csv"]
    assert notes.skipped == [f"{tmp_path / 'codex.out'} (the output of Codex, not of what verified it)"]


def test_outcomes_that_look_like_it_are_outcomes(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"type": "result", "subtype": "x", "session_id": "0", "task": "t", "route": "h:m", "score": 1}'
    )
    assert len(list(read_logs(tmp_path / "a.jsonl"))) == 1


def test_other_texts_are_not_it(tmp_path: Path) -> None:
    for text in ("task,score\n", '{"type": "result"}', "", "[]", '{"session_id": 1}'):
        (tmp_path / "a").write_text(text)
        assert harness_of(tmp_path / "a") == ""


@pytest.mark.skipif(not REAL.is_dir(), reason="no shared data; set HMROUTER_SHARED_DATA to its folder")
def test_real_output() -> None:
    with pytest.raises(LogError, match=SAYS) as caught:
        read_logs(REAL)
    assert ", ".join(sorted(OUTPUT)) in str(caught.value)
    for path in REAL.glob("*.out"):
        with pytest.raises(LogError, match=SAYS):
            read_logs(path)
