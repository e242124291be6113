"""Plain values are read as typer reads them, and without what typer needs for others."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from hmrouter.cli.command import Command
from hmrouter.cli.values import PlainReader
from hmrouter.errors import UsageError


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


def read(kind: Any, *typed: str, plainly: bool, default: Any = None, **settings: Any) -> Any:
    """What a command gets for `--value` typed so, by our reader or by typer's."""
    got: list[Any] = []

    def command(value: Any = default) -> None:
        got.append(value)

    command.__annotations__["value"] = Annotated[kind, typer.Option("--value", **settings)]

    app = typer.Typer()
    app.command(cls=Command if plainly else None)(command)
    typer.main.get_command(app).main([word for value in typed for word in ("--value", value)], standalone_mode=False)
    return got[0]


KINDS: dict[Any, list[tuple[str, ...]]] = {
    str: [(), ("x",), ("",), ("a\nb",), ("ä 字",)],
    int: [(), ("3",), ("-7",), ("+5",), ("007",), ("12345678901234567890",)],
    float: [(), ("3",), ("-7.25",), ("2.",), ("1e3",), ("inf",), (".5",), ("1" * 40,)],
    Path: [(), ("a/b",), (".",), ("ä b",)],
    Colour: [(), ("red",)],
    list[str]: [(), ("a",), ("a", "b,c")],
    list[Path]: [(), ("a",), ("a", "b/c")],
}


@pytest.mark.parametrize(("kind", "typed"), [(kind, typed) for kind, all_typed in KINDS.items() for typed in all_typed])
def test_values_are_those_that_typer_reads(kind: Any, typed: tuple[str, ...]) -> None:
    ours, theirs = (read(kind | None, *typed, plainly=plainly) for plainly in (True, False))
    assert (type(ours), ours) == (type(theirs), theirs)


@pytest.mark.parametrize("default", [5, 0, -1])
def test_a_default_stays_as_it_is(default: int) -> None:
    assert read(int, plainly=True, default=default) == default


def test_a_range_is_still_checked() -> None:
    assert read(int, "3", plainly=True, default=1, min=1) == 3
    with pytest.raises(UsageError, match="value 0 is less than 1"):
        read(int, "0", plainly=True, default=1, min=1)
    with pytest.raises(UsageError, match=r"value 2\.5 is more than 2"):
        read(float, "2.5", plainly=True, default=1.0, max=2)


@pytest.mark.parametrize(("kind", "typed"), [(int, "x"), (int, ""), (float, "two"), (Colour, "green")])
def test_what_is_none_of_its_kind_is_refused_with_the_option_and_the_value(kind: Any, typed: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(kind | None, typed, plainly=True)
    assert (refused.value.argument, refused.value.value) == ("value", typed)


def test_typer_keeps_its_readers_where_ours_are_put(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a later typer keeps them elsewhere, everything works, but slower: this tells."""
    seen: list[Any] = []
    original: Callable[..., Any] = PlainReader.coerce

    def coerce(self: PlainReader, value: Any, param: Any, ctx: Any) -> Any:
        seen.append(value)
        return original(self, value, param, ctx)

    monkeypatch.setattr(PlainReader, "coerce", coerce)
    read(str | None, "x", plainly=True)
    assert "x" in seen
