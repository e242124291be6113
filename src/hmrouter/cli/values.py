"""Plain values of options and arguments, read without pydantic, which typer loads to read even those not given.

Loading it takes as long as a decision. Where typer keeps its readers elsewhere, or a value is not plain, typer reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

READ: dict[Any, tuple[re.Pattern[str], type]] = {
    str: (re.compile(r".*", re.DOTALL), str),
    int: (re.compile(r"[+-]?\d{1,18}", re.ASCII), int),
    float: (re.compile(r"[+-]?\d{1,30}(\.\d{0,30})?", re.ASCII), float),
    Path: (re.compile(r"[^\0]+", re.DOTALL), Path),
}
"""What a plain value of each type looks like, and what makes it."""


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
            return one
        if several and kind == list[str] and isinstance(value, list | tuple) and all(type(v) is str for v in value):
            return list(value)
        from typer._coercion import build_runtime_param

        return build_runtime_param(self.parameter.type_descriptor).coerce(value, param=param, ctx=ctx)

    @property
    def _demanding(self) -> bool:
        """Whether the parameter asks for more than a value of its type: a range, a file that is there."""
        of = self.parameter.type_descriptor.parameter_info
        return any((of.parser, of.exists, of.resolve_path, of.writable, of.path_type)) or not (
            of.min is of.max is None and of.file_okay and of.dir_okay
        )


def _plain(value: Any, kind: Any) -> Any:
    """Return the value if it is plain, else None."""
    if type(value) is not str:
        return value if type(value) is kind else None
    looks, make = READ[kind]
    return make(value) if looks.fullmatch(value) else None
