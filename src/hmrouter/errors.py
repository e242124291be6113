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
    ├── GitError                 git refused, is not there, or the folder is no repository to work in
    ├── HarnessError             a harness cannot be started: not installed, no key, or not with this model
    ├── NoRoute                  nothing in the pool satisfies the constraints
    ├── StoreError               the database refused or is unreachable
    ├── OutputError              a file could not be written; the old one is untouched
    ├── PluginError              an installed plug-in cannot be used
    └── MissingExtra             an optional dependency is not installed

An error carries fields: what is wrong, the argument and its value, the valid set, and the key of an advice. `str` says
them in the words of Python; the command line has its own (`hmrouter.cli.error_words`), prints one line and exits 2 for
a `UsageError`, 1 for the others.
"""

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

ADVICE: Mapping[str, str] = MappingProxyType({
    "add_outcomes": "give a data set that has some",
    "allow_bypass": "allow it for this folder with bypass=True, or choose another harness",
    "benchmark_directory": "give a benchmark directory or a folder of them",
    "benchmark_files": "or let the store write both files",
    "choose_another": "choose another {argument}",
    "clean_tree": "commit or remove them first",
    "commit_or_branch": "commit them, or have the result as a branch",
    "count_runs": "say how many with runs, or add outcomes with costs",
    "decision_document": "give a decision as hmrouter.decide.document.to_dict writes it",
    "fewer_attempts": "give a better one, or use a single attempt",
    "first_commit": "make one first",
    "fit_again": "use the hmrouter version that wrote it, or train again",
    "forget_instead": "forget a run of it instead",
    "harbor_tasks": "give the folders of the tasks, or the data set",
    "install_bubblewrap": "install it with: apt-get install bubblewrap",
    "install_git": "install it first",
    "install_harness": "install it with: {command}",
    "limit_runs": "give a budget in dollars, a number of runs, or both",
    "make_repository": "make one with: git init, and commit what is there",
    "make_router": "fit one and save it there",
    "make_store": "open it without create=False to make it",
    "map_and_name": "the mapping {mapping} may be what is meant, with a {named} for all rows",
    "map_columns": "the mapping {mapping} may be what is meant",
    "mend_orders": "mend or remove it, or name another file",
    "mend_table": "mend {file}, or remove the table {name!r}",
    "name_pairs": "name one in pairs",
    "name_route": "give a model and a harness, or a pattern that finds (?P<model>...) and (?P<harness>...) there",
    "name_tasks": "give outcomes of the suite, or its tasks",
    "newer_version": "install a newer hmrouter",
    "other_orders": "name another file",
    "raise_or_leave_out": "raise {argument}, or leave it out",
    "raise_or_widen": "raise {argument} or widen the pool",
    "refused_elsewhere": "make room and read the log again, which adds nothing twice",
    "router_file": "give a file that Router.save wrote",
    "score_key": "choose one with the mapping score={scorer}.KEY",
    "score_name": "choose with the mapping score=NAME",
    "skip_bad": "mend them, or skip them to read the rest",
    "widen_pool": "give at least one pair",
    "work_folder": "give another folder with work",
})  # fmt: skip
"""What to do next, by the key that errors carry. Braces are filled from the error."""


class HMRouterError(Exception):
    """Base of all errors that HM-Router raises on purpose.

    >>> error = UsageError("is not a finite number of at least 0", argument="max_cost", value=-1.0)
    >>> str(error), error.argument, error.value
    ('max_cost -1.0 is not a finite number of at least 0', 'max_cost', -1.0)
    """

    def __init__(
        self,
        what: str,
        *,
        argument: str = "",
        value: object = None,
        valid: Iterable[str] = (),
        hint: str = "",
        **details: Any,
    ) -> None:
        """`what`: the sentence, or what is wrong with the value of an argument, which is then its subject.

        `hint`: a key of `ADVICE`. `details`: what the advice fills its braces with.
        """
        super().__init__(what)
        self.what = what
        self.argument = argument
        """The argument of the call that it is about."""
        self.value = value
        self.valid = tuple(valid)
        self.hint = hint
        self.details = details

    def __str__(self) -> str:
        return self.sentence()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)  # their constructors differ

    def sentence(self, spelled: Callable[[str], str] = str, advice: Mapping[str, str] = ADVICE) -> str:
        """The error on one line, in the words of a front end: how it spells an argument, and its advices.

        >>> error = NoRoute("all are too dear", argument="max_cost", hint="raise_or_widen")
        >>> str(error), error.sentence(lambda argument: f"?{argument}=")
        ('all are too dear; raise max_cost or widen the pool', 'all are too dear; raise ?max_cost= or widen the pool')
        """
        subject = "" if self.value is None or not self.argument else f"{spelled(self.argument)} {_shown(self.value)} "
        return f"{subject}{self.what}{self._next_step(spelled, advice)}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values, for a service to answer with.

        >>> UnknownName("harness", "codexx", ["codex"]).to_dict() == {
        ...     "error": "UnknownName", "what": "harness 'codexx' is not known", "argument": "harness",
        ...     "value": "codexx", "valid": ["codex"], "hint": "", "details": {},
        ... }
        True
        """
        return {
            "error": type(self).__name__, "what": self.what, "argument": self.argument, "value": _plain(self.value),
            "valid": list(self.valid), "hint": self.hint,
            "details": {name: _plain(value) for name, value in self.details.items()},
        }  # fmt: skip

    def _next_step(self, spelled: Callable[[str], str], advice: Mapping[str, str]) -> str:
        if not self.hint:
            return ""
        words = advice.get(self.hint, ADVICE[self.hint])
        return f"; {words.format(**self.details, argument=spelled(self.argument))}"


class UsageError(HMRouterError):
    """An argument is wrong."""


class UnknownName(UsageError):
    """A name that is not in the valid set; the message suggests the nearest one."""

    def __init__(self, kind: str, value: str, valid: Iterable[str], where: str = "") -> None:
        place = f" in {where}" if where else ""
        super().__init__(
            f"{kind} {value!r} is not{place or ' known'}", argument=kind, value=value, valid=sorted(set(valid))
        )

    def sentence(self, spelled: Callable[[str], str] = str, advice: Mapping[str, str] = ADVICE) -> str:
        """What is unknown, and what is known."""
        names = self.valid
        close = difflib.get_close_matches(str(self.value), names, n=1, cutoff=0.6)
        if close:
            known = f"did you mean {close[0]!r}?"
        elif not names:
            known = "there are none"
        elif len(names) <= 12:
            known = f"choose from {', '.join(names)}"
        else:
            known = f"choose from {', '.join(names[:10])} and {len(names) - 10} more"
        return f"{self.what}; {known}"


class NotFitted(UsageError):
    """Used before `fit`."""


class InputError(HMRouterError):
    """Something read is not what it should be."""


class InvalidOutcome(InputError):
    """A value of an outcome is out of range."""


class LogError(InputError):
    """A log file cannot be read or understood.

    >>> error = LogError("score 1.7 is outside 0 to 1", place="runs.csv line 7")
    >>> str(error), error.what
    ('runs.csv line 7: score 1.7 is outside 0 to 1', 'score 1.7 is outside 0 to 1')
    """

    def __init__(self, what: str, *, place: str = "", hint: str = "", **details: Any) -> None:
        super().__init__(what, hint=hint, **details)
        self.place = place
        """The file, and where in it."""

    def sentence(self, spelled: Callable[[str], str] = str, advice: Mapping[str, str] = ADVICE) -> str:
        """The place, then what is wrong there."""
        said = super().sentence(spelled, advice)
        return f"{self.place}: {said}" if self.place else said

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return super().to_dict() | {"place": self.place}


class RouterFileError(InputError):
    """A router file is corrupt, truncated, foreign or of a newer format."""


class EmbedderMismatch(HMRouterError):
    """Vectors of one embedder meet a router made with another."""


class EndpointError(HMRouterError):
    """A service refused, could not be reached, or answered something else than it should."""


class GitError(HMRouterError):
    """Git refused, is not there, or the folder is no repository that can be worked in."""


class HarnessError(HMRouterError):
    """A harness cannot be started: it is not installed, has no key, or does not run this model."""


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
        super().__init__(f"{what} needs an optional dependency; install it with: {how}", extra=extra)


def _restored(kind: type[HMRouterError], args: tuple[object, ...], fields: dict[str, Any]) -> HMRouterError:
    """An error that comes from another process."""
    error = kind.__new__(kind, *args)
    error.__dict__ |= fields
    return error


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value)


def _plain(value: object) -> Any:
    """A value that JSON has a form for; any other as text."""
    known = value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if known else str(value)
