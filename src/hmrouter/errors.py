"""Every error a user can cause, as one tree.

    HMRouterError
    ├── UsageError               a wrong argument: unknown name, contradicting options
    │   ├── UnknownName          a route, model, harness, scorer or suite that does not exist here
    │   └── NotFitted            a router or scorer asked before it was fitted
    ├── InputError               something read is not what it should be
    │   ├── InvalidOutcome       a value out of range: score 1.7, negative cost
    │   ├── LogError             a log file cannot be read or understood
    │   └── RouterFileError      a router file is corrupt, truncated, foreign or too new
    ├── EmbedderMismatch         vectors of one embedder given to a router made with another
    ├── EndpointError            a service refused, is unreachable, or answered something else than it should
    ├── NoRoute                  nothing in the pool satisfies the constraints
    ├── StoreError               the database refused or is unreachable
    ├── OutputError              a file could not be written; the old one is untouched
    ├── PluginError              an installed plug-in cannot be used
    └── MissingExtra             an optional dependency is not installed

The command line prints the message as one line and exits 2 for a `UsageError`, 1 for the others. A message
carries the value, the valid set and the next step.
"""

import difflib
from collections.abc import Iterable


class HMRouterError(Exception):
    """Base of all errors that HM-Router raises on purpose."""


class UsageError(HMRouterError):
    """An argument is wrong."""


class UnknownName(UsageError):
    """A name that is not in the valid set; the message suggests the nearest one."""

    def __init__(self, kind: str, value: str, valid: Iterable[str], where: str = "") -> None:
        names = sorted(set(valid))
        place = f" in {where}" if where else ""
        close = difflib.get_close_matches(value, names, n=1, cutoff=0.6)
        if close:
            hint = f"; did you mean {close[0]!r}?"
        elif not names:
            hint = "; there are none"
        elif len(names) <= 12:
            hint = f"; choose from {', '.join(names)}"
        else:
            hint = f"; choose from {', '.join(names[:10])} and {len(names) - 10} more"
        super().__init__(f"{kind} {value!r} is not{place or ' known'}{hint}")


class NotFitted(UsageError):
    """Used before `fit`."""


class InputError(HMRouterError):
    """Something read is not what it should be."""


class InvalidOutcome(InputError):
    """A value of an outcome is out of range."""


class LogError(InputError):
    """A log file cannot be read or understood."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        """The message without the file and the line."""


class RouterFileError(InputError):
    """A router file is corrupt, truncated, foreign or of a newer format."""


class EmbedderMismatch(HMRouterError):
    """Vectors of one embedder meet a router made with another."""


class EndpointError(HMRouterError):
    """A service refused, could not be reached, or answered something else than it should."""


class NoRoute(HMRouterError):
    """Nothing in the pool satisfies the constraints."""


class StoreError(HMRouterError):
    """The database refused or is unreachable."""


class OutputError(HMRouterError):
    """A file could not be written; what was there before is untouched."""


class PluginError(HMRouterError):
    """An installed plug-in cannot be used."""


class MissingExtra(HMRouterError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        how = f"pip install '.[{extra}]' in a checkout"
        super().__init__(f"{what} needs an optional dependency; install it with: {how}")
