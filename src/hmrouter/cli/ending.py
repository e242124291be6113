"""Ending on SIGTERM and SIGHUP as on Ctrl-C: what was unpacked or half written is removed first."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal asks the process to end."""


@contextmanager
def clean_ending() -> Iterator[None]:
    """Let a signal that ends the process unwind the block first; then the process ends by that signal.

    A signal that is ignored, as under `nohup`, stays so.
    """
    got: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        got.append(number)
        for other in handled:
            signal.signal(other, signal.SIG_IGN)  # a second one must not end the cleaning up
        raise Ended(number)

    handled = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        if got:  # whatever the block made of it
            os.kill(os.getpid(), got[0])
