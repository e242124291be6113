"""What doctor finds, with scripted harnesses and a real list of models, and one probe."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import EndpointError
from hmrouter.run.doctor import Finding, examine, sort_out
from hmrouter.run.drivers import driver_for
from hmrouter.run.drivers.base import Driver, Ended, Endpoint
from hmrouter.run.drivers.template import TemplateDriver
from hmrouter.run.model_lists import list_models
from hmrouter.run.probe_pairs import probe_pairs
from hmrouter.run.stand_in import Behaviour, StandIn
from hmrouter.types import Route

Scripted = Callable[..., TemplateDriver]

WRITES = "open('probe.txt', 'w').write('ok') if 'fake-model' in sys.argv else None"


@pytest.fixture
def models() -> Iterator[StandIn]:
    with StandIn({"gpt-5-2025-08-07": Behaviour(), "Our_Own": Behaviour()}) as models:
        yield models


@pytest.fixture
def codex(tmp_path: Path, models: StandIn) -> Driver:
    """A program called codex on the path, and a key for the stand-in."""
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nprint('codex-cli 0.169.0')\n")
    program.chmod(0o755)
    environ = {"PATH": str(program.parent), "HOME": str(tmp_path), "OPENAI_API_KEY": "a-secret-key"}
    return driver_for("codex", environ=environ | {"OPENAI_BASE_URL": models.v1})


def test_what_is_here_is_found_and_no_key_is_in_it(codex: Driver) -> None:
    (finding,) = examine({"codex": codex})
    assert (finding.harness, finding.version, finding.ready) == ("codex", "0.169.0", True)
    assert (finding.keys, finding.signed_in) == (("OPENAI_API_KEY",), False)
    assert finding.models == ("gpt-5", "our-own")
    assert codex.spelling("gpt-5") == "gpt-5-2025-08-07"  # as this service spells it
    assert "a-secret-key" not in json.dumps(finding.to_dict())
    assert finding.why_not(codex, "gpt-5-high") == ""
    assert "does not list gpt-4o" in finding.why_not(codex, "gpt-4o")


def test_what_is_missing_comes_with_the_way_to_get_it(tmp_path: Path) -> None:
    drivers = {"claude-code": driver_for("claude-code", environ={"PATH": str(tmp_path), "HOME": str(tmp_path)})}
    findings = examine(drivers)
    assert (findings[0].version, findings[0].ready, findings[0].models) == (None, False, None)
    program, key = findings[0].missing
    assert "npm install -g @anthropic-ai/claude-code" in program.get_it
    assert "ANTHROPIC_API_KEY" in key.get_it
    routes = [Route("claude-opus-4-5", "claude-code"), Route("gpt-5", "unheard-of")]
    able, unable = sort_out(routes, drivers, findings)
    assert able == []
    assert "npm install" in unable[routes[0]]
    assert "no driver" in unable[routes[1]]


def test_a_service_that_does_not_answer_is_said_and_hinders_nothing(codex: Driver) -> None:
    codex.environ = {**codex.environ, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    (finding,) = examine({"codex": codex})
    assert (finding.models, finding.ready) == (None, True)
    assert "127.0.0.1:9 cannot be reached" in finding.unreached
    (quiet,) = examine({"codex": codex}, ask_services=False)
    assert quiet.unreached == ""


class Wrong(BaseHTTPRequestHandler):
    """Refuses one key, and answers nonsense to the others."""

    def do_GET(self) -> None:
        self.send_response(401 if "bad" in (self.headers["Authorization"] or "") else 200)
        self.end_headers()
        self.wfile.write(b'{"data": 7}')

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_refusal_or_a_wrong_answer_is_one_error_without_the_key() -> None:
    with HTTPServer(("127.0.0.1", 0), Wrong) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1", "KEY", "openai")
        with pytest.raises(EndpointError, match="answered 401") as refused:
            list_models(endpoint, {"KEY": "bad-key"})
        assert "bad-key" not in str(refused.value)
        with pytest.raises(EndpointError, match="no list of models"):
            list_models(endpoint, {"KEY": "good-key"})
        server.shutdown()
    with pytest.raises(EndpointError, match="cannot be read"):
        list_models(Endpoint("ftp://x", "KEY", "openai"), {})


def test_a_probe_runs_the_pair_and_looks_at_the_file(scripted: Scripted) -> None:
    driver = scripted(WRITES)
    routes = [Route("fake-model", "scripted"), Route("lazy-model", "scripted")]
    limits: dict[str, Any] = {"max_dollars": 1.0, "max_seconds": 600.0, "bypass": False}
    good, lazy = probe_pairs(routes, {"scripted": driver}, **limits)
    assert (good.works, good.error, good.to_dict()["ended"]) == (True, "", "finished")
    assert (lazy.works, lazy.wrote) == (False, False)
    assert lazy.result is not None
    assert lazy.result.ended is Ended.FINISHED
    assert "not there" in lazy.error
    driver.only_bypassed = True
    (refused,) = probe_pairs(routes[:1], {"scripted": driver}, **limits)
    assert (refused.works, refused.result) == (False, None)
    (allowed,) = probe_pairs(routes[:1], {"scripted": driver}, **(limits | {"bypass": True}))
    assert allowed.works


def test_a_finding_as_json() -> None:
    finding = Finding("x", None, "", (), False, None, "", True, ())
    assert json.loads(json.dumps(finding.to_dict()))["ready"] is True
