"""Plain values of options and arguments, read without pydantic, which typer loads to read even those not given.

Loading it takes as long as a decision. Where typer keeps its readers elsewhere, or a value is not plain, typer reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from hmrouter.errors import UsageError

READ: dict[Any, tuple[re.Pattern[str], type]] = {
    str: (re.compile(r".*", re.DOTALL), str),
    int: (re.compile(r"[+-]?\d{1,18}", re.ASCII), int),
    float: (re.compile(r"[+-]?\d{1,30}(\.\d{0,30})?", re.ASCII), float),
    Path: (re.compile(r"[^\0]+", re.DOTALL), Path),
}
"""What a plain value of each type looks like, and what makes it."""
NUMBERS = {int: "is not a whole number", float: "is not a number"}


def read_plainly(parameters: list[Any]) -> list[Any]:
    """Give the parameters of a command readers for plain values, where they have none yet; return them."""
    for parameter in parameters:
        if getattr(parameter, "_runtime_param", parameters) is None:
            parameter._runtime_param = PlainReader(parameter)
    return parameters


@dataclass(frozen=True, slots=True)
class PlainReader:
    """Reads the values of one parameter; typer calls `coerce`."""

    parameter: Any

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Turn what was typed, or a default, into the value that the command gets."""
        kind = self.parameter.type_descriptor.annotation
        several = self.parameter.multiple or self.parameter.nargs == -1
        if value is None:
            return () if several else None
        if kind in READ and not several and (one := _plain(value, kind)) is not None and not self._demanding:
            return self._in_range(one)
        if several and get_args(kind) and get_args(kind)[0] in READ and isinstance(value, list | tuple):
            all_of_them = [_plain(each, get_args(kind)[0]) for each in value]
            if None not in all_of_them and not self._demanding:
                return all_of_them
        if isinstance(kind, type) and issubclass(kind, Enum) and not several:
            if value not in {*kind}:
                raise self._wrong(f"is not one of: {', '.join(map(str, kind))}", value)
            return kind(value)
        if kind in NUMBERS and isinstance(value, str) and not _is_number(value):
            raise self._wrong(NUMBERS[kind], value)
        from typer._coercion import build_runtime_param

        return build_runtime_param(self.parameter.type_descriptor).coerce(value, param=param, ctx=ctx)

    def _wrong(self, why: str, value: Any) -> UsageError:
        of = self.parameter
        if of.param_type_name == "argument":
            return UsageError(f"{value!r} {why}")
        return UsageError(why, argument=of.opts[0].removeprefix("--").replace("-", "_"), value=value)

    def _in_range(self, value: Any) -> Any:
        of = self.parameter.type_descriptor.parameter_info
        if of.min is not None and value < of.min:
            raise self._wrong(f"is less than {of.min}", value)
        if of.max is not None and value > of.max:
            raise self._wrong(f"is more than {of.max}", value)
        return value

    @property
    def _demanding(self) -> bool:
        """Whether the parameter asks for more than a value of its type and range, such as a file that is there."""
        of = self.parameter.type_descriptor.parameter_info
        more = (of.parser, of.exists, of.resolve_path, of.writable, of.path_type, of.clamp)
        return any(more) or not (of.file_okay and of.dir_okay)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _plain(value: Any, kind: Any) -> Any:
    """Return the value if it is plain, else None."""
    if not isinstance(value, str):
        return value if isinstance(value, kind) and not isinstance(value, bool) else None
    looks, make = READ[kind]
    return make(value) if looks.fullmatch(value) else None
