from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.errors import EmbedderMismatch, InputError, MissingExtra, UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.features.base import embedder_named
from hmrouter.features.sentence import SentenceEmbedder, directory_hash
from hmrouter.router import Router
from hmrouter.types import Outcome, Route, Task

WORDS = ["[UNK]", "fix", "the", "login", "parser", "cake", "instruct", "query"]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as if it was not installed
    embedder = SentenceEmbedder("some/model", dims=4)
    assert embedder.embed(["", " "]).tolist() == [[0.0] * 4] * 2
    with pytest.raises(MissingExtra, match=r"pip install '\.\[embeddings\]'"):
        embedder.embed(["Fix it"])


def test_the_environment_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="'sentence-transformers' needs a model; set HMROUTER_EMBEDDINGS_MODEL"):
        embedder_named("sentence-transformers")
    monkeypatch.setenv("HMROUTER_EMBEDDINGS_MODEL", "some/model")
    monkeypatch.setenv("HMROUTER_EMBEDDINGS_REVISION", "e4ce987")
    identity = embedder_named("sentence-transformers").identity()
    assert (identity["model"], identity["revision"], identity["files"]) == ("some/model", "e4ce987", "")


def test_the_hash_of_a_directory_follows_its_content(tmp_path: Path) -> None:
    assert directory_hash(tmp_path / "nothing") == ""
    model = tmp_path / "model"
    (model / "sub").mkdir(parents=True)
    (model / "weights").write_bytes(bytes(3_000_000))
    (model / "sub" / "config.json").write_text("{}")
    first = SentenceEmbedder(str(model))
    assert first.files_ == directory_hash(model) != ""
    seen = {first.fingerprint}
    (model / "weights").write_bytes(bytes(2_999_999) + b"\1")
    seen.add(SentenceEmbedder(str(model)).fingerprint)
    (model / "sub" / "config.json").rename(model / "sub" / "other.json")
    seen.add(SentenceEmbedder(str(model)).fingerprint)
    assert len(seen) == 3


# -- with the library --------------------------------------------------------------------------------------------


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The real library, kept from downloading anything."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return pytest.importorskip("sentence_transformers", reason="needs the extra `embeddings`")


def write_model(library: Any, path: Path, seed: int = 0) -> Path:
    """A model of one vector per word: real files in the library's own format, without a download."""
    parts = pytest.importorskip("tokenizers")
    tokenizer = parts.Tokenizer(parts.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token=WORDS[0]))
    tokenizer.normalizer = parts.normalizers.Lowercase()
    tokenizer.pre_tokenizer = parts.pre_tokenizers.Whitespace()
    weights = np.random.default_rng(seed).standard_normal((len(WORDS), 6)).astype(np.float32)
    static = library.sentence_transformer.modules.StaticEmbedding(tokenizer, embedding_weights=weights)
    library.SentenceTransformer(modules=[static], device="cpu").save(str(path))
    return path


@pytest.mark.heavy
def test_a_model_from_a_directory(library: Any, tmp_path: Path) -> None:
    model = write_model(library, tmp_path / "model")
    texts = ["Fix the login", "", "cake", "a\ud800"]
    embedder = SentenceEmbedder(str(model), device="cpu")
    vectors = embedder.embed(texts)
    assert vectors.shape == (4, 6)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1, 1])
    raw = library.SentenceTransformer(str(model), device="cpu").encode(["Fix the login"])[0]
    assert vectors[0] == pytest.approx(raw / np.linalg.norm(raw), abs=1e-6)
    short = SentenceEmbedder(str(model), dims=3, device="cpu").embed(texts)
    assert short[0] == pytest.approx(raw[:3] / np.linalg.norm(raw[:3]), abs=1e-6)
    asked = SentenceEmbedder(str(model), instruction="fix", device="cpu").embed(["cake"])
    assert asked == pytest.approx(embedder.embed(["Instruct: fix\nQuery:cake"]), abs=1e-6)
    assert SentenceEmbedder.from_state(embedder.state()).embed(texts) == pytest.approx(vectors, abs=1e-6)


@pytest.mark.heavy
def test_a_router_on_such_a_model(library: Any, tmp_path: Path) -> None:
    model = write_model(library, tmp_path / "model")
    routes = [Route("gpt-5", "codex"), Route("gpt-5", "aider")]
    words = ["login", "parser"] * 60
    outcomes = [
        Outcome(Task(f"t{i}", text=f"fix the {word}"), route, float((word == "login") == (route.harness == "codex")))
        for i, word in enumerate(words)
        for route in routes
    ]
    router = Router("knn", SentenceEmbedder(str(model), device="cpu")).fit(Dataset(outcomes))
    file = tmp_path / "router.hmr"
    router.save(file)
    loaded = Router.load(file)
    assert [loaded.route(f"Fix the {word}").route.harness for word in words[:2]] == ["codex", "aider"]
    write_model(library, model, seed=1)
    with pytest.raises(EmbedderMismatch, match="are not those of before"):
        Router.load(file).route("Fix the login")
    with pytest.raises(EmbedderMismatch, match="another embedder: files"):
        Router.load(file, embedder=SentenceEmbedder(str(model)))


@pytest.mark.heavy
def test_a_model_that_is_not_there(library: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'no/such-model' cannot be loaded \(.*\); set HMROUTER_EMBEDDINGS_MODEL"):
        SentenceEmbedder("no/such-model").embed(["a"])
