"""A process that adds the outcomes START to STOP of a fixed world to a store, and prints what came of it as JSON."""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Engine, event

from hmrouter.errors import HMRouterError
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task


def outcome(i: int, trial: str = "") -> Outcome:
    """The i-th outcome: 10 routes per task, so that imports meet on tasks, routes and runs as well."""
    return Outcome(
        Task(f"task-{i // 10}", suite="world", text=f"Do thing number {i // 10}. " * 20),
        Route(f"model-{i % 5}", f"harness-{i % 2}"),
        score=i % 3 / 2,
        cost=i / 1000,
        source="worker",
        run=f"run-{i % 7}",
        trial=trial,
    )


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def incoming(args: argparse.Namespace) -> Iterator[Outcome]:
    numbers: range | list[int] = range(args.start, args.stop)
    if args.shuffle is not None:
        numbers = random.Random(args.shuffle).sample(numbers, len(numbers))
    for place, number in enumerate(numbers):
        if args.die == "reading" and place == len(numbers) // 2:
            die()
        yield outcome(number, args.trial)


def peak() -> int:
    """The most memory that this program took, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # what `getrusage` says on Linux begins with the size of the process that started this one
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--stop", type=int, required=True)
    parser.add_argument("--trial", default="")
    parser.add_argument("--shuffle", type=int)
    parser.add_argument("--wait", action="store_true", help="say that all is loaded, then wait for a line")
    parser.add_argument("--die", choices=["reading", "writing"], help="kill -9 half way, or just before the commit")
    parser.add_argument("--file-size", type=int, help="no file may grow beyond so many bytes")
    parser.add_argument("--read", action="store_true", help="read all outcomes at the end")
    args = parser.parse_args()
    if args.wait:
        print("ready", flush=True)  # noqa: T201
        sys.stdin.readline()
    if args.file_size:
        resource.setrlimit(resource.RLIMIT_FSIZE, (args.file_size, args.file_size))
    if args.die == "writing":

        @event.listens_for(Engine, "after_cursor_execute")
        def after(_conn: object, _cursor: object, statement: str, *_: object) -> None:
            if statement.startswith("INSERT INTO outcomes"):
                die()

    with OutcomeStore(args.url) as store:
        try:
            report = store.add(incoming(args))
        except HMRouterError as error:
            print(json.dumps({"error": str(error)}))  # noqa: T201
            return
        read = sum(1 for _ in store.outcomes()) if args.read else None
    print(json.dumps({"new": report.new, "known": report.known, "read": read, "peak_bytes": peak()}))  # noqa: T201


if __name__ == "__main__":
    main()
