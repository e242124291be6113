"""The suite with another embedder: every text is embedded once, whatever runs on it, and results are its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from hmrouter.bench.run.suite import plan_suite, run_suite

EMBEDDER = '''
import json, os, pathlib
import numpy as np
from hmrouter.features.base import Embedder
from hmrouter.state import State

class Counting(Embedder):
    """Vectors of letter counts; writes down what it was asked."""

    name = "counting"

    def embed(self, texts):
        with open(os.environ["ASKED"], "a") as f:
            f.writelines(json.dumps(t) + "\\n" for t in texts)
        return np.array([[t.count(c) for c in "aeiou"] for t in texts], dtype=np.float32).reshape(len(texts), 5)

    def identity(self):
        return {"name": "counting", "letters": os.environ["LETTERS"]}

    def state(self):
        return State()

    @classmethod
    def from_state(cls, state):
        return cls()
'''


def test_an_expensive_embedder(plant: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "plug" / "counting-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[hmrouter.embedders]\ncounting = counting_embedder:Counting\n")
    (tmp_path / "plug" / "counting_embedder.py").write_text(EMBEDDER)
    monkeypatch.syspath_prepend(tmp_path / "plug")
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    monkeypatch.setenv("LETTERS", "aeiou")
    plant(tmp_path / "data" / "alpha", 12)

    def computed(embedder: str) -> int:
        suite = plan_suite(["routing", "sparse"], [tmp_path / "data"], methods=["knn"], splits=2, embedder=embedder)
        run_suite(suite, tmp_path / "out", jobs=1)
        assert suite.left_out == []
        return suite.results.computed

    assert computed("counting") == 14
    asked = Counter(json.loads(line) for line in (tmp_path / "asked").read_text().splitlines())
    assert set(asked.values()) == {1}
    assert len([text for text in asked if text.startswith("Task ")]) == 12
    assert len(asked) == 14  # and two harnesses
    assert computed("counting") == 0
    assert computed("lsa") == 14  # rows of another embedder are other rows
    monkeypatch.setenv("LETTERS", "others")
    assert computed("counting") == 14  # another model behind the same name
