from __future__ import annotations

import re

import pytest

from hmrouter import errors
from hmrouter.errors import HMRouterError, MissingExtra, NotFitted, UnknownName, UsageError

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
