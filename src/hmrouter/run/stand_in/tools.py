"""Turning a file into a call of one of the tools that a harness offers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

WRITERS = ("Write", "write_file", "write_to_file", "create", "write", "WriteFile")
"""Names of tools that write a whole file."""
PATCHERS = ("apply_patch",)
"""Names of tools that apply a patch."""
EDITORS = ("str_replace_based_edit_tool", "file_editor", "editor")
"""Names of tools that edit files and have a command for making one."""
SHELLS = (
    "Bash", "bash", "Shell", "shell", "shell_command", "exec_command", "run_shell_command", "local_shell", "terminal",
    "execute_bash", "execute_command", "run_commands", "run_command",
)  # fmt: skip
"""Names of tools that run shell commands."""
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""How a model tells mini-SWE-agent that it is done."""

_PATHS = ("file_path", "filePath", "path", "absolute_path")
_CONTENTS = ("content", "file_text", "contents", "new_text")
_PATCHES = ("patchText", "patch", "input")
_COMMANDS = ("command", "cmd", "commands", "script")
_HERE = re.compile(r"(?:[Ww]orking (?:in the )?directory|<cwd>|cwd)[^/\n]{0,40}(/[^\s<>\"'`,\\]+)")


class Tool(NamedTuple):
    """A tool as a harness offers it."""

    name: str
    schema: Mapping[str, Any]


class Call(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: dict[str, Any]


def folder_of(texts: Sequence[str]) -> str:
    """The working directory that a harness tells its model, if it is there; "" where it tells none.

    >>> folder_of(["The cwd is /no/such/folder.", "Working directory: /usr/bin"])
    '/usr/bin'
    """
    told = (match.group(1).rstrip("./") for text in texts for match in _HERE.finditer(text))
    return next((folder for folder in told if Path(folder).is_dir()), "")


def call_for(path: str, content: str, tools: Sequence[Tool], folder: str, with_shell: bool) -> Call | None:
    """Write a file with the best of the tools; None where none of them can."""
    by_name = {tool.name: tool for tool in tools}
    whole = str(PurePosixPath(folder, path)) if folder else path
    for name in () if with_shell else (*WRITERS, *EDITORS, *PATCHERS):
        if name in by_name:
            return Call(name, _arguments(by_name[name], whole, content, ""))
    parent, file, words = (shlex.quote(text) for text in (str(PurePosixPath(path).parent), path, content))
    return shell_call(f"mkdir -p {parent} && printf %s {words} > {file}", tools)


def shell_call(command: str, tools: Sequence[Tool]) -> Call | None:
    """Run a command with the best of the tools; None where there is none for it."""
    by_name = {tool.name: tool for tool in tools}
    found = next((by_name[name] for name in SHELLS if name in by_name), None)
    return Call(found.name, _arguments(found, "", "", command)) if found else None


def _arguments(tool: Tool, path: str, content: str, command: str) -> dict[str, Any]:
    """Fill in what a tool's schema has, and something plain for whatever else it requires."""
    properties: Mapping[str, Any] = tool.schema.get("properties") or {}
    given: dict[str, Any] = {}
    if command:
        name = next(name for name in _COMMANDS if name in properties)
        kind = properties[name].get("type")
        one_each = name == "commands"  # a list of whole commands, not of one command's words
        given[name] = command if kind != "array" else [command] if one_each else ["bash", "-lc", command]
    else:
        lines = "".join(f"+{line}\n" for line in content.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch"
        for names, value in ((_PATHS, path), (_CONTENTS, content), (_PATCHES, patch)):
            given |= {name: value for name in names if name in properties}
        if "command" in properties:
            given["command"] = "create"
    for name in tool.schema.get("required", ()):
        given.setdefault(name, _plain(properties.get(name) or {}))
    return given


def _plain(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    return {"boolean": False, "integer": 0, "number": 0, "array": [], "object": {}}.get(
        schema.get("type", ""), "do the task"
    )
