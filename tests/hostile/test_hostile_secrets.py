"""Keys and passwords: never shown, warned of where a text holds one; cells of an export that are no formulas."""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from hmrouter.errors import EndpointError
from hmrouter.features.endpoint import JsonEndpoint
from hmrouter.logs import Notes, read_logs
from hmrouter.logs.keys import keys_in
from hmrouter.store.database import parse, shown, without_secrets

from .conftest import Limited

KEY = "sk-very-secret-0123456789abcdefghijklmnopqrstuvwxyz"
FORMULAS = [
    '=HYPERLINK("http://evil")',
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "'=1",
    "''=1",
    "plain",
    "'quoted'",
    "=",
]


@contextmanager
def server(reason: str, body: bytes) -> Iterator[str]:
    """A server that refuses every request in these words."""

    class Refuses(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(401, reason)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Refuses) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.parametrize("before", [0, 150, 180, 195, 205, 225, 238, 240])
@pytest.mark.parametrize("reason", ["No", f"key {KEY} is wrong"])
def test_a_key_that_a_server_echoes_is_not_repeated(before: int, reason: str) -> None:
    with (
        server(reason, b"x" * before + KEY.encode() + b"\x1b[2J" * 50) as address,
        pytest.raises(EndpointError) as caught,
    ):
        JsonEndpoint(address, timeout=60, retries=0).post({}, key=KEY)
    message = str(caught.value)
    assert not any(KEY[:size] in message for size in range(6, len(KEY) + 1))
    assert message.isprintable()


@pytest.mark.parametrize(
    "query",
    ["oauth_client_secret=hunter2", "sslpassword=hunter2", "password=a&password=hunter2", "access_token=hunter2"],
)
def test_a_secret_in_an_address_is_not_shown(query: str) -> None:
    url = parse(f"postgresql://me:hunter2@db.example/runs?{query}")
    assert "hunter2" not in shown(url)
    assert "hunter2" not in without_secrets("wrong: hunter2", url)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Fix the failing test", []),
        ("The skill-set of task-123 and risk-averse sk-learn users", []),
        ("export OPENAI_API_KEY=sk-proj-" + "a1B2" * 12, ["an OpenAI key"]),
        ("sk-ant-api03-" + "x_-9" * 20, ["an Anthropic key"]),
        ("aws " + "AKIA" + "ABCDEFGHIJKLMNOP", ["an AWS access key"]),
        ("token ghp_" + "a1" * 18, ["a GitHub token"]),
        ("-----BEGIN RSA " + "PRIVATE KEY-----", ["a private key"]),
        ("connect to postgresql://me:hunter22@db.example/runs", ["a password in an address"]),
        ("see https://example.org:8080/a@b", []),
    ],
)
def test_keys_of_known_forms(text: str, found: list[str]) -> None:
    assert keys_in(text) == found


def test_a_text_with_a_key_is_warned_of_and_the_key_not_shown(tmp_path: Path, limited: Limited) -> None:
    key = "ghp_" + "a1" * 18
    rows = "".join(f"t{i},Clone it with {key},m,h,1\n" for i in range(3))
    (tmp_path / "a.csv").write_text(f"task,text,model,harness,score\n{rows}")
    ended = limited("import", "a.csv")
    assert "looks like a GitHub token" in ended.err
    assert key not in ended.out + ended.err
    notes = Notes()
    list(read_logs(tmp_path / "a.csv", notes=notes))
    assert any("GitHub token" in remark for remark in notes.remarks)


def test_cells_of_an_export_are_no_formulas_and_come_back(tmp_path: Path, limited: Limited) -> None:
    with (tmp_path / "a.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["task", "text", "model", "harness", "score", "suite"])
        table.writerows([[f"{i}", cell, "m", "h", "1", cell.strip()] for i, cell in enumerate(FORMULAS)])
    assert limited("import", "a.csv", "--store", "sqlite:///a.db").code == 0
    assert limited("store", "export", "out.csv", "--store", "sqlite:///a.db").code == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell]
    assert limited("import", "out.csv", "--store", "sqlite:///b.db").code == 0
    for name in ("a", "b"):
        limited("store", "export", f"{name}.jsonl", "--store", f"sqlite:///{name}.db")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
