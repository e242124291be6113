"""Commands and groups of commands as this command line makes them: plain values, plain help, one style of errors."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from hmrouter.cli.help import help_text, value_name
from hmrouter.cli.values import read_plainly
from hmrouter.errors import UsageError


class Command(TyperCommand):
    """A command whose plain values are read without pydantic and whose help is plain text."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters, `--help` among them."""
        return read_plainly(super().get_params(ctx))

    def get_help(self, ctx: Any) -> str:
        """Write the help."""
        return help_text(self, ctx)


class Group(TyperGroup):
    """A group of such commands; the outermost one runs the command line."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters, `--help` among them."""
        return read_plainly(super().get_params(ctx))

    def get_help(self, ctx: Any) -> str:
        """Write the help."""
        return help_text(self, ctx)

    def main(self, *arguments: Any, **settings: Any) -> NoReturn:
        """Run what was typed and exit; what typer refuses becomes a `UsageError`."""
        try:
            code = super().main(*arguments, **settings | {"standalone_mode": False})
        except typer.Abort:
            from hmrouter.cli.output import say

            say("aborted: nothing was changed")
            sys.exit(1)
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            raise _refusal(error) from error
        sys.exit(code if isinstance(code, int) else 0)


def ours(app: typer.Typer) -> typer.Typer:
    """Make an app's commands, and those of groups in it, of these classes."""
    app.info.cls = Group
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            ours(group.typer_instance)
    return app


def _refusal(error: Any) -> BaseException:
    """Say what typer refuses in one sentence, with what would do or the help that tells it."""
    context: Any = getattr(error, "ctx", None)
    path = "hmrouter" if context is None else context.command_path
    match type(error).__name__:
        case "NoArgsIsHelpError":
            from hmrouter.cli.output import echo_lines

            echo_lines(context.get_help())
            return SystemExit(2)
        case "MissingParameter" if error.param is not None:
            of = error.param
            said = f"{of.opts[0] if of.param_type_name == 'option' else value_name(of)} is missing"
        case "NoSuchOption":
            near = " or ".join(sorted(error.possibilities or ()))
            said = f"{path} has no option {error.option_name}" + (f", did you mean {near}?" if near else "")
        case _:
            said = " ".join(error.format_message().split()).rstrip(".")
            said = f"{said[:1].lower()}{said[1:]}"
    return UsageError(f"{said}; see: {path} --help")
