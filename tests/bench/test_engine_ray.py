"""`--engine ray` on a Ray of this machine and on a cluster behind `ray://`: the same results to the last bit."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra `ray`"),
]
COMMAND = Path(sys.executable).with_name("hmrouter")


def bench(folder: Path, out: str, methods: str, *more: str, **env: str) -> dict[str, Any]:
    command = [str(COMMAND), "bench", "run", "routing", "cost", "--data", "data", "--out", out, "--methods", methods,
               "--splits", "2", "--jobs", "2", "--json", *more]  # fmt: skip
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    given = clean | {"PYTHONPATH": str(folder / "plug"), "OMP_NUM_THREADS": "1"} | env
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=600)
    if done.returncode:
        return {"error": done.stderr.splitlines()[-1], "code": done.returncode}
    document: dict[str, Any] = json.loads(done.stdout)
    rows = json.loads((folder / out / "results.json").read_text())
    return document | {"results": [{k: v for k, v in row.items() if k != "fit_seconds"} for row in rows]}


@pytest.fixture
def folder(plant: Callable[..., Path], plug_in: Callable[..., Path], tmp_path: Path) -> Path:
    plant(tmp_path / "data" / "alpha", 12)
    plug_in(
        tmp_path / "plug",
        raising={"fit": "raise RuntimeError('no licence file')"},
        dying={"fit": "import os; os._exit(3)"},
        quiet={"fit": "import os; assert os.environ['RAY_USAGE_STATS_ENABLED'] == '0'"},
    )
    return tmp_path


def test_the_same_as_the_local_engine(folder: Path) -> None:
    methods = "random,fixed,knn,avengers,hm,oracle"
    on_ray, local = bench(folder, "ray", methods, "--engine", "ray"), bench(folder, "local", methods)
    assert on_ray["left_out"] == local["left_out"] == []
    assert on_ray["computed"] == local["computed"] == 24
    assert on_ray["results"] == local["results"]
    # and either goes on where the other has been
    assert bench(folder, "local", methods, "--engine", "ray")["cached"] == 24


def test_the_others_go_on_and_nothing_is_sent_home(folder: Path) -> None:
    found = bench(folder, "ray", "fixed,raising,dying,quiet", "--engine", "ray")
    assert {(r["experiment"], r["method"]) for r in found["results"]} == {
        (e, m) for e in ("routing", "cost") for m in ("fixed", "quiet")
    }
    assert sorted(found["left_out"]) == [
        f"{experiment}: {method} on alpha (2 units): {reason}"
        for experiment in ("cost", "routing")
        for method, reason in (
            ("dying", "the Ray task failed: WorkerCrashedError"), ("raising", "RuntimeError: no licence file"),
        )
    ]  # fmt: skip


def test_no_ray_there(folder: Path) -> None:
    found = bench(folder, "ray", "fixed", "--engine", "ray", "--ray-address", "auto")
    assert found["code"] == 1
    assert found["error"].startswith("error: no Ray at auto: ")


def free_ports(n: int) -> list[int]:
    """Ports outside the range from which the system, and so Ray, takes them at random."""
    found: list[int] = []
    for port in random.SystemRandom().sample(range(20_000, 23_000), 100):
        with socket.socket() as s, suppress(OSError):
            s.bind(("127.0.0.1", port))
            found.append(port)
    return found[:n]


@pytest.fixture
def cluster() -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a cluster of our own, which asks for a token, and the environment that has it."""
    port, client_port = free_ports(2)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, Path(place, "log").open("w") as log:
        head = subprocess.Popen(
            [COMMAND.with_name("ray"), "start", "--head", "--block", "--num-cpus", "2", "--include-dashboard", "false",
             "--node-ip-address", "127.0.0.1", "--port", str(port), "--ray-client-server-port", str(client_port),
             "--temp-dir", place, "--disable-usage-stats"],
            env=os.environ | token, start_new_session=True, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            address = f"ray://127.0.0.1:{client_port}"
            ask = [sys.executable, "-c", f"import ray; ray.init({address!r})"]
            deadline = time.monotonic() + 600
            # A cluster that has just begun may refuse its first clients.
            while subprocess.run(ask, env=os.environ | token, capture_output=True).returncode != 0:
                assert head.poll() is None, Path(place, "log").read_text()
                assert time.monotonic() < deadline, Path(place, "log").read_text()
                time.sleep(5.0)
            yield address, token
        finally:
            os.killpg(head.pid, signal.SIGKILL)
            head.wait()


def test_a_cluster(folder: Path, cluster: tuple[str, dict[str, str]]) -> None:
    address, token = cluster
    methods = "random,fixed,knn,oracle"
    on_ray = bench(folder, "ray", methods, "--engine", "ray", "--ray-address", address, **token)
    assert "error" not in on_ray, on_ray
    assert on_ray["results"] == bench(folder, "local", methods)["results"]
