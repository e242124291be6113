"""Commands and groups of commands as this command line makes them: values read plainly."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from hmrouter.cli.values import read_plainly


class Command(TyperCommand):
    """A command whose plain values are read without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters, `--help` among them."""
        return read_plainly(super().get_params(ctx))


class Group(TyperGroup):
    """A group of such commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters, `--help` among them."""
        return read_plainly(super().get_params(ctx))


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
