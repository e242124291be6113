"""Help as plain text that fits a terminal: usage, what the command does, its values by name, two examples."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, get_args

WIDEST, NARROWEST = 100, 40
COLUMN = 24
"""Where descriptions of options start; a longer option has its description on the next line."""
EXAMPLE = re.compile(r"(?:^|(?<=\s))Example: (`?)(hmrouter .*?)\1\s*(?=$|\n|Example: )", re.MULTILINE)
BY_TYPE = {str: "TEXT", int: "N", float: "NUMBER", Path: "FILE"}
BY_NAME = {
    "allow": "RULE", "budget": "DOLLARS", "budget_per_task": "DOLLARS", "columns": "NAME=COLUMN", "data": "DIR",
    "dataset": "NAME", "decision": "FILE", "deny": "RULE", "directory": "DIR", "embedder": "NAME", "engine": "NAME",
    "expire": "DAYS", "family": "NAME", "format": "NAME", "goal": "NAME", "half_life": "DAYS", "harbor": "DIR",
    "harness": "NAME", "horizon": "N", "incumbent": "ROUTE", "max_cost": "DOLLARS", "methods": "NAMES",
    "model": "NAME", "name": "NAME", "new": "NAME", "new_harness": "NAME", "new_model": "NAME", "old": "NAME",
    "older_than": "DAYS", "pair": "ROUTE", "paths": "PATH", "pattern": "REGEX", "ray_address": "URL",
    "router": "FILE", "run": "RUN", "scorer": "NAME", "source": "NAME", "store": "URL", "suite": "NAME",
    "task_id": "ID", "text": "TEXT", "text_days": "DAYS", "value": "DOLLARS",
}  # fmt: skip
"""What stands for a value, where its parameter says more than its type does."""


def help_text(command: Any, ctx: Any) -> str:
    """Write the help of a command."""
    room = max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))
    parameters = [p for p in command.get_params(ctx) if not getattr(p, "hidden", False)]
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    options = [p for p in parameters if p.param_type_name == "option"]
    text, examples = parted(command.help or "")
    commands = [(name, first_sentence(command.commands[name].help or "")) for name in getattr(command, "commands", {})]
    usage = ["[OPTIONS]", *map(_in_usage, arguments), *["COMMAND ..."] * bool(commands)]
    blocks = [textwrap.fill(f"Usage: {ctx.command_path} {' '.join(usage)}", room, subsequent_indent=" " * 7)]
    blocks += [textwrap.fill(plain(paragraph), room) for paragraph in text.split("\n\n")]
    blocks += _list("Arguments", [(value_name(p), _about(p)) for p in arguments], room)
    blocks += _list("Options", [(_spelled(p), _about(p)) for p in options], room)
    blocks += _list("Commands", commands, room)
    blocks += ["\n".join(("Examples:", *(f"  {example}" for example in examples)))] if examples else []
    return "\n\n".join(block for block in blocks if block)


def parted(text: str) -> tuple[str, list[str]]:
    """Part the text of a command from its examples.

    >>> parted("Do it.\\n\\nExample: `hmrouter do`\\nExample: `hmrouter do --twice`")
    ('Do it.', ['hmrouter do', 'hmrouter do --twice'])
    """
    return EXAMPLE.sub("", text).strip(), [found[1] for found in EXAMPLE.findall(text)]


def first_sentence(text: str) -> str:
    """Return the first sentence of a command's text, as lists of commands show it.

    >>> first_sentence("Say `why` it is so. And more.\\n\\nExample: `hmrouter x`")
    'Say why it is so.'
    """
    sentence = re.match(r".*?\.(?=\s|$)", plain(parted(text)[0]), re.DOTALL)
    return sentence[0] if sentence else plain(parted(text)[0])


def plain(text: str) -> str:
    """Take the marks of code, and line breaks, out of a text."""
    return " ".join(text.replace("`", "").split())


def value_name(parameter: Any) -> str:
    """Name what stands for the value of an option or argument: FILE, N, or the values that there are."""
    if parameter.metavar:
        return str(parameter.metavar)
    kind = parameter.type_descriptor.annotation
    kind = (get_args(kind) or (kind,))[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(choice.value) for choice in kind)
    return BY_NAME.get(parameter.name) or BY_TYPE.get(kind, "TEXT")


def _in_usage(argument: Any) -> str:
    name = value_name(argument) + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _spelled(option: Any) -> str:
    names = ", ".join(sorted((*option.opts, *option.secondary_opts), key=len))
    return names if option.is_flag else f"{names} {value_name(option)}"


def _about(parameter: Any) -> str:
    """Describe a parameter, with its default and the environment variable that sets it."""
    notes = []
    default = parameter.default
    if isinstance(default, Enum):
        default = default.value
    if default not in (None, "", (), []) and not isinstance(default, bool) and not callable(default):
        notes.append(f"default: {default}")
    if parameter.param_type_name == "option" and parameter.required:
        notes.append("required")
    if variable := getattr(parameter, "envvar", None):
        notes.append(f"or the environment: {variable}")
    about = plain(parameter.help or "")
    return f"{about} [{'; '.join(notes)}]" if notes else about


def _list(title: str, rows: Sequence[tuple[str, str]], room: int) -> Iterator[str]:
    """Lay out names and descriptions in two columns, under a title; nothing without rows."""
    if not rows:
        return
    lines = [f"{title}:"]
    for name, about in rows:
        first = f"  {name}"
        if len(first) + 2 > COLUMN:
            lines.append(first)
            first = ""
        filled = textwrap.wrap(about, room - COLUMN, break_on_hyphens=False) or [""]
        lines += [f"{first:<{COLUMN}}{filled[0]}".rstrip(), *(" " * COLUMN + line for line in filled[1:])]
    yield "\n".join(lines)
