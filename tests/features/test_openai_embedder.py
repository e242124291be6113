from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.errors import EmbedderMismatch, EndpointError, UsageError
from hmrouter.features.base import embedder_named
from hmrouter.features.endpoint import LONGEST_WAIT, parse_address, pause, retry_after
from hmrouter.features.openai import OpenAIEmbedder

if TYPE_CHECKING:
    from tests.features.conftest import Handler, Server

TEXTS = [f"Fix bug {i}" for i in range(7)]
KEY = "sk-do-not-tell-anybody-4711"
AT_ONCE = {"Retry-After": "0"}


def client(server: Server, **settings: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder("some/model", server.url, **({"timeout": 600.0} | settings))


# -- what is asked, and what is made of the answer ---------------------------------------------------------------


def test_texts_go_in_batches_over_one_connection(server: Server) -> None:
    vectors = client(server, batch_size=3).embed(TEXTS)
    assert [len(body["input"]) for _, _, body in server.requests] == [3, 3, 1]
    assert server.asked == TEXTS
    assert server.connections == 1
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(server.rows(TEXTS), abs=1e-6)


def test_the_request_is_that_of_openai(server: Server) -> None:
    client(server).embed(["Fix it"])
    path, headers, body = server.requests[0]
    assert path == "/v1/embeddings"
    assert headers["Content-Type"] == "application/json"
    assert "Authorization" not in headers
    assert body == {"model": "some/model", "input": ["Fix it"], "encoding_format": "float"}


@given(st.permutations(range(4)))
def test_rows_are_sorted_by_their_index(order: list[int]) -> None:
    from hmrouter.features.openai import _rows

    data = [{"index": i, "embedding": [float(i), 1.0]} for i in order]
    assert _rows({"data": data}, 4)[:, 0].tolist() == [0, 1, 2, 3]


def test_an_answer_out_of_order(server: Server) -> None:
    rows = server.rows(["a", "b"]).tolist()
    server.says(200, {"data": [{"index": 1, "embedding": rows[1]}, {"index": 0, "embedding": rows[0]}]})
    assert client(server).embed(["a", "b"]) == pytest.approx(server.rows(["a", "b"]), abs=1e-6)


def test_an_answer_without_index_is_in_order(server: Server) -> None:
    server.says(200, {"data": [{"embedding": [3, 4]}, {"embedding": [0.0, 0.0]}]})
    assert client(server).embed(["a", "b"]) == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


@pytest.mark.parametrize("honours", [True, False])
def test_fewer_dims_are_asked_for_and_cut_off_if_that_is_ignored(server: Server, honours: bool) -> None:
    server.honours_dimensions = honours
    embedder = client(server, dims=3)
    assert embedder.embed(TEXTS) == pytest.approx(server.rows(TEXTS, 3), abs=1e-6)
    assert server.requests[0][2]["dimensions"] == 3
    assert embedder.identity()["dims"] == 3


def test_more_dims_than_the_model_has(server: Server) -> None:
    server.honours_dimensions = False
    with pytest.raises(UsageError, match=r"dims 9 is more than the 8 numbers that 'some/model' gives; set .*_DIMS"):
        client(server, dims=9).embed(["a"])


@pytest.mark.parametrize(
    ("instruction", "sent"),
    [
        ("", "Fix it"),
        ("Find similar tasks", "Instruct: Find similar tasks\nQuery:Fix it"),
        ("query: {text}", "query: Fix it"),
    ],
)
def test_the_form_of_a_text(server: Server, instruction: str, sent: str) -> None:
    client(server, instruction=instruction).embed(["Fix it"])
    assert server.asked == [sent]


def test_an_empty_text_is_zeros_and_no_request(server: Server) -> None:
    embedder = client(server)
    vectors = embedder.embed(["", "a", " \n"])
    assert server.asked == ["a"]
    assert np.abs(vectors).sum(axis=1).astype(bool).tolist() == [False, True, False]
    assert embedder.embed([""]).tolist() == [[0.0] * 8]
    assert embedder.embed([]).shape == (0, 8)
    assert client(server, dims=5).embed([""]).shape == (1, 5)
    assert len(server.requests) == 1
    assert client(server).embed([""]).shape == (1, 8)  # its length must come from somewhere
    assert len(server.requests) == 2


def test_long_texts_are_cut_and_that_is_said_once(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    embedder = client(server, max_chars=4, instruction="x")
    embedder.embed(["abcdef", "abcd"])
    embedder.embed(["abcde"])
    assert server.asked == ["Instruct: x\nQuery:abcd"] * 3
    assert [r.message for r in caplog.records] == ["texts are cut after 4 characters before they are embedded"]


def test_half_a_character_is_sent_as_a_question_mark(server: Server) -> None:
    client(server).embed(["a\ud800b"])
    assert server.asked == ["a?b"]


# -- when it does not work ---------------------------------------------------------------------------------------


def hang_up(handler: Handler, body: dict[str, Any]) -> None:
    handler.close_connection = True


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(server: Server, status: int) -> None:
    server.says(status, {"error": {"message": "busy"}}, AT_ONCE, times=3)
    assert client(server, retries=3).embed(["a"]).shape == (1, 8)
    assert server.asked == ["a"] * 4


def test_a_lost_connection_is_tried_again_after_a_while(server: Server) -> None:
    server.script = [hang_up]
    assert client(server, retries=1).embed(["a"]).shape == (1, 8)
    assert server.connections == 2


def test_a_connection_that_was_closed_while_idle_is_no_failure(server: Server) -> None:
    def answer_and_hang_up(handler: Handler, body: dict[str, Any]) -> None:
        handler.answer(body)
        handler.close_connection = True  # without saying so

    embedder = client(server, retries=0)
    server.script = [answer_and_hang_up]
    embedder.embed(["a"])
    assert embedder.embed(["b"]).shape == (1, 8)
    assert server.connections == 2


def test_patience_ends(server: Server) -> None:
    server.says(429, {"error": {"message": "slow\ndown"}}, AT_ONCE, times=9)
    with pytest.raises(EndpointError) as e:
        client(server, retries=2).embed(["a"])
    assert str(e.value) == (
        f"the embeddings endpoint at {server.host} answered 429 Too Many Requests: slow down, 3 times; "
        "check that it runs, and HMROUTER_EMBEDDINGS_URL"
    )
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "hint"),
    [(301, "_URL"), (400, "_MAX_CHARS"), (401, "_API_KEY"), (403, "_API_KEY"), (404, "_URL"), (413, "_BATCH_SIZE")],
)
def test_a_refusal_is_final(server: Server, status: int, hint: str) -> None:
    server.says(status, {"object": "error", "message": "no"}, {"Location": server.url})
    with pytest.raises(EndpointError, match=f"{server.host} answered {status} .*: no; .*{hint}") as e:
        client(server).embed(["a"])
    assert "\n" not in str(e.value)
    assert len(server.requests) == 1


WRONG: dict[str, tuple[Any, str]] = {
    "not JSON": (b"<html>", "is not JSON"),
    "not an object": ([1], "no list 'data'"),
    "no data": ({"error": "?"}, "no list 'data'"),
    "data of other things": ({"data": [1, 2]}, "no list 'data'"),
    "too few": ({"data": [{"embedding": [1.0]}]}, "1 vectors for 2 texts"),
    "twice the same index": ({"data": [{"index": 0, "embedding": [1.0]}] * 2}, "'index'"),
    "an index missing": ({"data": [{"index": 0, "embedding": [1.0]}, {"embedding": [1.0]}]}, "'index'"),
    "base64": ({"data": [{"embedding": "AACAPw=="}] * 2}, "not a list of numbers"),
    "null": ({"data": [{"embedding": [None]}] * 2}, "not a list of numbers"),
    "nothing": ({"data": [{"embedding": []}] * 2}, "not a list of numbers"),
    "NaN": (b'{"data": [{"embedding": [NaN]}, {"embedding": [1]}]}', "NaN or an infinite number"),
    "lengths": ({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}, "different lengths"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_answer_is_one_clear_error(server: Server, case: str) -> None:
    document, reason = WRONG[case]
    server.says(200, document)
    with pytest.raises(EndpointError) as e:
        client(server).embed(["a", "b"])
    assert reason in str(e.value)
    assert server.host in str(e.value)
    assert "check" in str(e.value)
    assert len(server.requests) == 1


def test_a_server_that_does_not_answer(server: Server) -> None:
    over = threading.Event()

    def wait(handler: Handler, body: dict[str, Any]) -> None:
        over.wait(600)
        hang_up(handler, body)

    server.script = [wait]
    try:
        with pytest.raises(EndpointError, match=rf"{server.host} did not answer within 0.2 seconds; check"):
            client(server, timeout=0.2, retries=0).embed(["a"])
    finally:
        over.set()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(EndpointError, match=rf"127.0.0.1:{port} cannot be reached \(.*refused\), 2 times; check"):
        OpenAIEmbedder("m", f"http://127.0.0.1:{port}/v1", retries=1).embed(["a"])


@given(st.integers(1, 2000), st.none() | st.floats(0, 1e9))
def test_no_pause_is_too_long(attempt: int, asked: float | None) -> None:
    wait = pause(attempt, asked)
    assert 0.0 <= wait <= LONGEST_WAIT
    assert wait == min(asked, LONGEST_WAIT) if asked is not None else wait >= min(0.25, LONGEST_WAIT)


@pytest.mark.parametrize("value", ["", "-1", "soon", "Thu, 99 Jan 1970 00:00:00 GMT", "1" * 400])
def test_a_strange_retry_after_is_bounded_or_left_aside(value: str) -> None:
    assert pause(1, retry_after(value, 0.0)) <= LONGEST_WAIT


# -- secrets -----------------------------------------------------------------------------------------------------


def test_the_key_is_sent_and_never_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMROUTER_EMBEDDINGS_API_KEY", f" {KEY}\n")
    embedder = client(server)
    embedder.embed(["a"])
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    server.says(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})
    with pytest.raises(EndpointError, match=r"provided: \*\*\*; check the key in HMROUTER_EMBEDDINGS_API_KEY") as e:
        embedder.embed(["b"])
    kept = json.dumps(embedder.state().meta) + json.dumps(embedder.identity()) + repr(embedder) + repr(vars(embedder))
    assert KEY not in kept + str(e.value)


def test_a_key_that_no_header_can_carry(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\r\nX: y")
    with pytest.raises(UsageError, match="the key in MY_KEY holds characters") as e:
        client(server, api_key_env="MY_KEY").embed(["a"])
    assert KEY not in str(e.value)
    assert server.requests == []


@pytest.mark.parametrize(
    "url",
    ["localhost:8000/v1", "ftp://h/v1", "http://", "http://h:x/v1", "http://[::1/v1", "http://h/a b", "http://h/ü",
     f"http://me:{KEY}@h/v1", f"http://me@{KEY}/v1", f"https://h/v1?key={KEY}", f"https://h/v1#{KEY}"],
)  # fmt: skip
def test_an_address_that_is_not_taken(url: str) -> None:
    with pytest.raises(UsageError, match="the address of the embeddings endpoint") as e:
        parse_address(url)
    assert KEY not in str(e.value)


@pytest.mark.parametrize("base", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_addresses_that_mean_the_same(server: Server, base: str) -> None:
    OpenAIEmbedder("m", f"http://{server.host}{base}").embed(["a"])
    assert server.requests[0][0] == "/v1/embeddings"


# -- identity ----------------------------------------------------------------------------------------------------


def test_the_fingerprint_is_known_before_any_vector(server: Server) -> None:
    embedder = client(server)
    before = embedder.fingerprint
    embedder.embed(["a"])
    assert embedder.fingerprint == before
    assert embedder.identity() == {
        "name": "openai", "model": "some/model", "dims": 8, "instruction": "", "revision": "", "max_chars": None,
    }  # fmt: skip
    others: list[dict[str, Any]] = [{"dims": 4}, {"instruction": "x"}, {"revision": "2"}, {"max_chars": 9}]
    assert len({before, *(client(server, **other).fingerprint for other in others)}) == 5
    assert OpenAIEmbedder("some/model", "http://elsewhere/v1").fingerprint == before


def test_another_length_is_refused(server: Server) -> None:
    embedder = client(server)
    embedder.embed(["a"])
    server.dims = 4
    with pytest.raises(EmbedderMismatch, match="endpoint gives 4 numbers per text where 8 are expected"):
        embedder.embed(["b"])
    with pytest.raises(EmbedderMismatch, match="kept have 5 numbers"):
        embedder.expect(5)


def test_another_model_of_the_same_length_is_refused(server: Server) -> None:
    embedder = client(server)
    server.model = "Some/Model"  # a server that has one model answers with it, whatever it is asked for
    embedder.embed(["a"])
    server.model = "/models/some/MODEL/"
    embedder.embed(["a"])
    server.model = "other/model-2"
    with pytest.raises(EmbedderMismatch, match="answered with the model 'other/model-2' instead of 'Some/Model'"):
        embedder.embed(["b"])


def test_threads_share_an_embedder(server: Server) -> None:
    embedder = client(server)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: embedder.embed([text])[0], TEXTS * 4))
    assert np.stack(rows) == pytest.approx(server.rows(TEXTS * 4), abs=1e-6)


# -- the environment ---------------------------------------------------------------------------------------------


def test_the_environment_configures_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"URL": server.url, "MODEL": "m", "DIMS": "3", "INSTRUCTION": "do", "REVISION": "r1", "BATCH_SIZE": "2"}
    for name, value in settings.items():
        monkeypatch.setenv(f"HMROUTER_EMBEDDINGS_{name}", value)
    embedder = embedder_named("openai")
    assert embedder.embed(["a", "b", "c"]).shape == (3, 3)
    assert [len(body["input"]) for _, _, body in server.requests] == [2, 1]
    assert server.asked[0] == "Instruct: do\nQuery:a"
    assert (embedder.identity()["model"], embedder.identity()["revision"]) == ("m", "r1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"URL": "http://h/v1"}, "needs a model; set HMROUTER_EMBEDDINGS_MODEL"),
        ({"MODEL": "m"}, "needs the address of an embeddings endpoint; set HMROUTER_EMBEDDINGS_URL, for example"),
        ({"MODEL": "m", "URL": "h/v1"}, "cannot be read; write it like http://localhost:8000/v1"),
        ({"MODEL": "m", "URL": "http://h/v1", "DIMS": "many"}, "_DIMS is 'many', not a whole number of at least 1"),
        ({"MODEL": "m", "URL": "http://h/v1", "DIMS": "0"}, "_DIMS is '0', not a whole number of at least 1"),
        ({"MODEL": "m", "URL": "http://h/v1", "RETRIES": "-1"}, "_RETRIES is '-1', not a whole number of at least 0"),
    ],
)
def test_a_wrong_environment_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], message: str
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"HMROUTER_EMBEDDINGS_{name}", value)
    with pytest.raises(UsageError, match=message):
        embedder_named("openai")


@pytest.mark.parametrize("settings", [{"dims": 0}, {"max_chars": 0}])
def test_wrong_arguments(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is not at least 1"):
        OpenAIEmbedder("m", "http://h/v1", **settings)
