from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from hmrouter import errors
from hmrouter.cli import error_words
from hmrouter.cli.error_words import in_words
from hmrouter.errors import (
    HMRouterError,
    InputError,
    LogError,
    MissingExtra,
    NoRoute,
    NotFitted,
    RouterFileError,
    UnknownName,
    UsageError,
)

CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)]


def test_the_drawn_tree_is_the_real_one() -> None:
    assert errors.__doc__ is not None
    stack: list[str] = []
    drawn = {}
    for line in errors.__doc__.splitlines():
        if match := re.match(r"( {4}[│├└─ ]*)([A-Z]\w+)(  |$)", line):
            depth = (len(match[1]) - 4) // 4
            stack[depth:] = [match[2]]
            drawn[match[2]] = stack[depth - 1] if depth else "Exception"
    assert drawn == {c.__name__: c.__bases__[0].__name__ for c in CLASSES}


@pytest.mark.parametrize("error", CLASSES, ids=lambda c: c.__name__)
def test_every_error_is_one_of_ours_and_documented(error: type[Exception]) -> None:
    assert issubclass(error, HMRouterError)
    assert error.__doc__


@pytest.mark.parametrize(
    ("value", "valid", "message"),
    [
        ("codexx", ["codex", "aider"], "harness 'codexx' is not in the pool; did you mean 'codex'?"),
        ("zzz", ["codex", "aider"], "harness 'zzz' is not in the pool; choose from aider, codex"),
        ("zzz", [], "harness 'zzz' is not in the pool; there are none"),
        ("zzz", [f"h{i:02}" for i in range(13)], "choose from h00, h01, h02, h03, h04, h05, h06, h07, h08, h09 and 3"),
    ],
)
def test_an_unknown_name_says_what_is_known(value: str, valid: list[str], message: str) -> None:
    error = UnknownName("harness", value, iter(valid), "the pool")
    assert message in str(error)
    assert "\n" not in str(error)


def test_unknown_anywhere() -> None:
    assert str(UnknownName("scorer", "hn", ["hm"])) == "scorer 'hn' is not known; choose from hm"
    assert issubclass(UnknownName, UsageError)
    assert issubclass(NotFitted, UsageError)  # exit code 2


def test_a_missing_extra_says_what_to_install() -> None:
    assert str(MissingExtra("reading Parquet", "parquet")).endswith("pip install '.[parquet]' in a checkout")


# -- fields, and the words of each front end -------------------------------------------------------------------------


def raised() -> Iterator[tuple[str, set[str]]]:
    """Every key of an advice that the package names, with the fields that are given beside it."""
    for path in Path(errors.__file__).parent.rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            given = {k.arg or "": k.value for k in call.keywords}
            for key in ast.walk(given["hint"]) if "hint" in given else ():
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value:
                    yield key.value, set(given)


def braces(words: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(words) if name}


def test_every_hint_has_an_advice_and_what_its_braces_need() -> None:
    found = list(raised())
    assert len(found) > 20
    for hint, given in found:
        needed = braces(errors.ADVICE[hint]) | braces(error_words.ADVICE.get(hint, ""))
        assert needed <= given, f"{hint} needs {needed}"


def test_the_command_line_has_no_advice_of_its_own() -> None:
    assert error_words.ADVICE.keys() <= errors.ADVICE.keys()


def test_an_argument_is_named_as_each_front_end_calls_it() -> None:
    error = UsageError("is not at least 1", argument="budget_per_task", value=0)
    assert str(error) == "budget_per_task 0 is not at least 1"
    assert in_words(error) == "--budget-per-task 0 is not at least 1"
    assert str(UsageError("is no name", argument="dataset", value="@1")) == "dataset '@1' is no name"


def test_an_advice_is_filled_from_the_error() -> None:
    error = RouterFileError("there is no router file a.hmr", hint="make_router", path="a.hmr")
    assert str(error) == "there is no router file a.hmr; fit one and save it there"
    assert in_words(error) == "there is no router file a.hmr; make one with: hmrouter train --out a.hmr"
    wide = NoRoute("nothing is left", argument="max_cost", hint="raise_or_widen")  # one that the command line leaves
    assert in_words(wide) == "nothing is left; raise --max-cost or widen the pool"


def test_braces_of_a_user_are_no_template() -> None:
    error = InputError("no task {path}", hint="make_router", path="{what}")
    assert in_words(error) == "no task {path}; make one with: hmrouter train --out {what}"


def test_the_place_in_a_log_stands_before_what_is_wrong() -> None:
    error = LogError("no reward", place="runs.csv line 7", hint="score_name")
    assert str(error) == "runs.csv line 7: no reward; choose with the mapping score=NAME"
    assert in_words(error) == "runs.csv line 7: no reward; choose with --map score=NAME"
    assert error.to_dict()["place"] == "runs.csv line 7"


EXAMPLES = [
    UsageError("is not finite", argument="max_cost", value=float("nan")),
    UnknownName("harness", "codexx", ["codex", "aider"], "the pool"),
    LogError("no reward", place="runs.csv line 7", hint="score_name"),
    InputError("damaged", hint="mend_table", file=Path("a.csv"), name="mine"),
    MissingExtra("reading Parquet", "parquet"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
def test_fields_are_json_and_survive_another_process(error: HMRouterError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), in_words(again)) == (str(error), in_words(error))
    document = json.loads(json.dumps(error.to_dict(), allow_nan=False))
    assert document == again.to_dict()
    assert document.keys() >= {"error", "what", "argument", "value", "valid", "hint"}
    assert document["error"] == type(error).__name__
