"""Runs units on the cores of this machine, in worker processes of our own.

A worker that dies takes only its unit with it, and is replaced. Workers end with this process, however that ends.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait

from hmrouter.bench.experiments.base import Unit
from hmrouter.bench.run.work import Requests, UnitResult, run_unit

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PATIENCE = 5.0
"""Seconds that a worker has to end when it is asked to."""


def run_local(units: Sequence[Unit], requests: Requests, jobs: int) -> Iterator[UnitResult]:
    """Give every worker a unit, and another whenever it has finished one."""
    queue = Queue(units)
    workers: list[Worker] = []
    try:
        for _ in range(min(jobs, len(units))):
            workers.append(Worker(requests))
            workers[-1].give(queue.take())
        while busy := {w.connection: w for w in workers if w.unit}:
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]  # wait gives back what it was given
                finished = worker.result()
                if not worker.process.is_alive():
                    workers[workers.index(worker)] = worker = Worker(requests)
                worker.give(queue.take(finished.unit))  # before the yield: it computes while we write
                yield finished
    finally:
        for worker in workers:
            worker.end()


class Queue:
    """Hands out units so that a worker stays on a split, as long as there are splits enough for all.

    What the units of a split share, such as its task vectors, is then made in one process.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self._left: dict[tuple[str, int], deque[Unit]] = {}
        for unit in units:
            self._left.setdefault(_place(unit), deque()).append(unit)
        self._fresh = list(reversed(self._left))

    def take(self, last: Unit | None = None) -> Unit | None:
        """The next unit for a worker that has just done `last`; None when all are taken."""
        place = _place(last) if last else None
        if place not in self._left:
            if self._fresh:
                place = self._fresh.pop()
            elif self._left:  # help where the most is left
                place = max(self._left, key=lambda p: len(self._left[p]))
            else:
                return None
        unit = self._left[place].popleft()
        if not self._left[place]:
            del self._left[place]
        return unit


def _place(unit: Unit) -> tuple[str, int]:
    return unit.benchmark, unit.split


class Worker:
    """A fresh interpreter (a fork of a process that has used threads may hang) and the pipe to it."""

    def __init__(self, requests: Requests) -> None:
        context = get_context("spawn")
        self.unit: Unit | None = None
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, requests))
        with _starting():
            self.process.start()
        other.close()

    def give(self, unit: Unit | None) -> None:
        """Let it do a unit; None: there is nothing more to do."""
        self.unit = unit
        if unit:
            with suppress(OSError):  # it is dead already, which `result` will see
                self.connection.send(unit)

    def result(self) -> UnitResult:
        """Wait for what came of its unit."""
        assert self.unit is not None
        try:
            finished: UnitResult = self.connection.recv()
            return finished
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode or 0
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            return UnitResult(self.unit, [], f"the process that did it {how}")

    def end(self) -> None:
        """End it now, whatever it does."""
        self.connection.close()
        self.process.terminate()
        self.process.join(PATIENCE)
        self.process.kill()
        self.process.join()


@contextmanager
def _starting() -> Iterator[None]:
    """Let a new process inherit one thread for numbers, and deafness to Ctrl-C, which is the parent's to handle."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    resource_tracker.ensure_running()  # else it is started below, and unblocks the signal
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _serve(connection: Connection, requests: Requests) -> None:
    os.dup2(2, 1)  # what a method prints must not mix with the answer on standard output
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # the parent is gone or has closed the pipe: nothing more to do
        while True:
            unit = connection.recv()
            connection.send(run_unit(unit, requests))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
