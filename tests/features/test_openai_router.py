"""Routers, the command line and the suite on vectors of a real HTTP endpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hmrouter.errors import EmbedderMismatch, EndpointError, UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.features.cache import KEPT_AT_A_TIME, embed_cached
from hmrouter.features.openai import OpenAIEmbedder
from hmrouter.router import Router
from hmrouter.scorers.hm import HM
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task, text_hash

if TYPE_CHECKING:
    from tests.features.conftest import Server

KEY = "sk-do-not-tell-anybody-4711"
ROUTES = [Route("gpt-5", "codex"), Route("gpt-5", "aider"), Route("qwen3:8b", "codex")]
TASKS = [Task(f"t{i}", text="" if i == 5 else f"Fix the {('login', 'parser')[i % 2]} {i}") for i in range(12)]
OUTCOMES = [Outcome(t, r, float((i + j) % 2), cost=0.1) for i, t in enumerate(TASKS) for j, r in enumerate(ROUTES)]
DATA = Dataset(OUTCOMES)


def client(server: Server, **settings: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder("some/model", server.url, **({"retries": 0} | settings))


def fitted(server: Server, store: OutcomeStore | None = None, **settings: Any) -> Router:
    return Router("knn", client(server, **settings)).fit(DATA, cache=store)


@pytest.fixture
def store(tmp_path: Path) -> OutcomeStore:
    return OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}")


@pytest.mark.parametrize("dims", [None, 4])
def test_a_text_is_asked_for_once(server: Server, store: OutcomeStore, dims: int | None) -> None:
    first = fitted(server, store, dims=dims)
    texts = {t.text for t in TASKS} - {""}
    assert len(server.asked) == len(set(server.asked)) == len(texts) + 2  # and two harness descriptions
    asked = len(server.requests)
    second = fitted(server, store, dims=dims)
    assert len(server.requests) == asked
    assert second.embedder.identity() == first.embedder.identity()
    before, after = (r.route("Fix the login 3").best for r in (first, second))
    assert before == after
    more = Dataset([*OUTCOMES, Outcome(Task("new", text="Something new"), ROUTES[0], 1.0)])
    Router("knn", client(server, dims=dims)).fit(more, cache=store)
    assert server.asked[-1] == "Something new"


def test_an_interrupted_fit_keeps_what_it_has(server: Server, store: OutcomeStore) -> None:
    texts = [f"text {i}" for i in range(KEPT_AT_A_TIME + 5)]
    embedder = client(server, batch_size=KEPT_AT_A_TIME)
    embed_cached(embedder, texts[:1], store)
    server.script = [lambda handler, body: handler.answer(body), lambda handler, body: handler.send(400, b"no")]
    with pytest.raises(EndpointError):
        embed_cached(embedder, texts, store)
    assert len(store.vectors(embedder.fingerprint, [text_hash(t) for t in texts])) == KEPT_AT_A_TIME + 1
    server.requests.clear()
    assert embed_cached(embedder, texts, store) == pytest.approx(server.rows(texts), abs=1e-6)
    assert server.asked == texts[-4:]


def test_kept_vectors_of_another_length_are_refused(server: Server, store: OutcomeStore) -> None:
    fitted(server, store)
    server.dims = 4
    more = Dataset([*OUTCOMES, Outcome(Task("new", text="Something new"), ROUTES[0], 1.0)])
    with pytest.raises(EmbedderMismatch, match="endpoint gives 4 numbers per text where 8 are expected"):
        Router("knn", client(server)).fit(more, cache=store)
    assert Router("knn", client(server, revision="2")).fit(more, cache=store).embedder.identity()["dims"] == 4


def test_a_router_file_says_what_shapes_vectors_and_nothing_else(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMROUTER_EMBEDDINGS_API_KEY", KEY)
    file = tmp_path / "router.hmr"
    router = fitted(server, instruction="Judge")
    router.save(file)
    assert not [word for word in (KEY, server.host, "127.0.0.1") if word.encode() in file.read_bytes()]
    asked = len(server.requests)
    loaded = Router.load(file)  # needs no network, and no address
    assert len(server.requests) == asked
    with pytest.raises(UsageError, match="set HMROUTER_EMBEDDINGS_URL"):
        loaded.route("Fix the login 3")
    monkeypatch.setenv("HMROUTER_EMBEDDINGS_URL", server.url)
    monkeypatch.setenv("HMROUTER_EMBEDDINGS_MODEL", "for/another-router")
    monkeypatch.setenv("HMROUTER_EMBEDDINGS_DIMS", "2")
    assert loaded.route("Fix the login 3").best == router.route("Fix the login 3").best
    assert server.requests[-1][2]["model"] == "some/model"
    assert server.asked[-1] == "Instruct: Judge\nQuery:Fix the login 3"


def test_another_embedder_is_refused(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "router.hmr"
    fitted(server).save(file)
    wrong: list[dict[str, Any]] = [{"instruction": "x"}, {"dims": 4}, {"revision": "2"}, {"max_chars": 9}]
    for settings in wrong:
        with pytest.raises(EmbedderMismatch, match=f"another embedder: {next(iter(settings))} .* train again"):
            Router.load(file, embedder=client(server, **settings))
    with pytest.raises(EmbedderMismatch, match="model 'b' instead of 'some/model'"):
        Router.load(file, embedder=OpenAIEmbedder("b", server.url))
    fresh = client(server)
    assert Router.load(file, embedder=fresh).route("Fix it").route in ROUTES
    server.dims = 4
    for loaded in (Router.load(file, embedder=client(server)), Router.load(file, embedder=fresh)):
        with pytest.raises(EmbedderMismatch, match="gives 4 numbers per text where 8 are expected"):
            loaded.route("Fix it")


def test_an_outcome_is_taken_in_whole_or_not_at_all(server: Server) -> None:
    router = Router(HM(epochs=1), client(server)).fit(DATA)  # a scorer that asks for the description of a new harness
    outcome = Outcome(Task("new", text="New"), Route("gpt-5", "openhands"), 1.0, cost=50.0)
    before = repr(router.snapshot.costs.state())
    for script in ([], [lambda handler, body: handler.answer(body)]):  # the task fails, or the description
        server.script = [*script, lambda handler, body: handler.send(400, b"no")]
        with pytest.raises(EndpointError):
            router.observe(outcome)
        assert repr(router.snapshot.costs.state()) == before
        assert outcome.route not in router.pool_
    router.observe(outcome)
    assert router.evidence(outcome.route).pair == 1


# -- the command line --------------------------------------------------------------------------------------------

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def cli(server: Server, tmp_path: Path) -> Cli:
    def start(*arguments: object, **settings: str) -> subprocess.CompletedProcess[str]:
        given = {"URL": server.url, "MODEL": "some/model", "API_KEY": KEY, "RETRIES": "0"} | settings
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HMROUTER_")}
        env = kept | {"OMP_NUM_THREADS": "1"} | {f"HMROUTER_EMBEDDINGS_{k}": v for k, v in given.items()}
        command = [str(Path(sys.executable).with_name("hmrouter")), *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)

    return start


def test_train_and_route_from_the_command_line(server: Server, store: OutcomeStore, tmp_path: Path, cli: Cli) -> None:
    store.add(OUTCOMES)
    done = cli("train", "--embedder", "openai", "--scorer", "knn", "--json", DIMS="4", INSTRUCTION="Judge")
    assert (done.returncode, done.stderr) == (0, "")
    embedder = json.loads(done.stdout)["embedder"]
    assert (embedder["name"], embedder["model"], embedder["dims"]) == ("openai", "some/model", 4)
    assert {headers["Authorization"] for _, headers, _ in server.requests} == {f"Bearer {KEY}"}
    asked = len(server.requests)
    assert cli("train", "--embedder", "openai", "--scorer", "knn", DIMS="4", INSTRUCTION="Judge").returncode == 0
    assert len(server.requests) == asked
    done = cli("route", "Fix the login", "--json", MODEL="", DIMS="")
    assert (done.returncode, done.stderr) == (0, "")
    assert server.asked[-1] == "Instruct: Judge\nQuery:Fix the login"
    server.dims, server.honours_dimensions = 3, False
    done = cli("route", "Fix the login")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the embeddings endpoint gives 3 numbers per text where 4 are expected")
    written = [path.read_bytes() for path in tmp_path.iterdir()]
    assert len(written) >= 2
    assert not [content for content in written if KEY.encode() in content]


def test_the_command_line_refuses_in_one_line(server: Server, store: OutcomeStore, cli: Cli) -> None:
    store.add(OUTCOMES)
    for code, settings, message in (
        (2, {"MODEL": ""}, "needs a model; set HMROUTER_EMBEDDINGS_MODEL"),
        (2, {"URL": ""}, "set HMROUTER_EMBEDDINGS_URL, for example to http://localhost:8000/v1"),
        (
            1,
            {"URL": f"http://{server.host}/v2"},
            f"endpoint at {server.host} answered 404 Not Found: no such model; check",
        ),
    ):
        server.says(404, {"error": {"message": "no such model"}})
        done = cli("train", "--embedder", "openai", **settings)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
        assert message in done.stderr


def test_the_suite_asks_for_a_text_once(server: Server, tmp_path: Path, cli: Cli, plant: Callable[..., Path]) -> None:
    plant(tmp_path / "data" / "planted", 20)
    command = ["bench", "run", "routing", "--data", "data", "--out", "out", "--splits", "3", "--jobs", "2", "--json"]
    command += ["--methods", "random,fixed,knn,oracle", "--embedder", "openai"]
    done = cli(*command)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["left_out"], summary["cached"]) == ([], 0)
    assert len(server.asked) == len(set(server.asked)) == 22  # 20 tasks and two harnesses, in three splits
    asked = len(server.requests)
    assert json.loads(cli(*command).stdout)["computed"] == 0
    more = json.loads(cli(*command, "--seed", "1").stdout)  # other splits of the same texts
    assert (more["computed"], more["cached"]) == (12, 0)
    assert len(server.requests) == asked
    assert json.loads(cli(*command, MODEL="another").stdout)["cached"] == 0
    assert len(server.asked) == 44
    assert not [f for f in (tmp_path / "out").rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]


def test_the_suite_stops_at_an_endpoint_that_refuses(
    server: Server, tmp_path: Path, cli: Cli, plant: Callable[..., Path]
) -> None:
    plant(tmp_path / "data" / "planted", 20)
    server.says(401, {"error": {"message": "who are you?"}}, times=99)
    done = cli("bench", "run", "routing", "--data", "data", "--methods", "knn", "--embedder", "openai")
    assert done.returncode == 1
    assert "answered 401 Unauthorized: who are you?; check the key" in done.stderr
    assert len(server.requests) == 1
