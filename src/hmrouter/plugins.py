"""Named classes: the built-in ones and those that installed packages offer through entry points.

A third party registers a scorer in its own `pyproject.toml`:

    [project.entry-points."hmrouter.scorers"]
    my_scorer = "my_package:MyScorer"
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hmrouter.errors import PluginError, UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


class Registry:
    """Knows the classes of one kind by name and imports one only when asked for it."""

    def __init__(self, kind: str, group: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self.group = group
        self._builtin = dict(builtin)

    def extended(self, kind: str, more: Mapping[str, str]) -> Registry:
        """Make a registry with further built-in names and the same plug-ins."""
        return Registry(kind, self.group, self._builtin | dict(more))

    def names(self) -> list[str]:
        """List all names, built-in first, then plug-ins, each sorted."""
        plugins = {e.name for e in self._plugins()} - self._builtin.keys()
        return sorted(self._builtin) + sorted(plugins)

    def load(self, name: str) -> Any:
        """Import the class behind a name; a built-in cannot be replaced by a plug-in."""
        if name in self._builtin:
            module, _, attribute = self._builtin[name].partition(":")
            return getattr(importlib.import_module(module), attribute)
        for entry in self._plugins().select(name=name):
            try:
                loaded = entry.load()
            except Exception as e:  # a plug-in may fail in any way; its name is what the user needs
                raise PluginError(f"{self.kind} {name!r} ({entry.value}) cannot be imported: {e}") from e
            if not isinstance(loaded, type):
                raise PluginError(f"{self.kind} {name!r} ({entry.value}) is {loaded!r}, not a class")
            return loaded
        raise UnknownName(self.kind, name, self.names())

    def about(self, name: str) -> str:
        """Return the first sentence of the class's documentation."""
        text = " ".join((self.load(name).__doc__ or "").partition("\n\n")[0].split())
        return text.partition(". ")[0].rstrip(".")

    def _plugins(self) -> EntryPoints:
        """Ask what installed packages offer; a built-in name does not need to, and the question takes its time."""
        from importlib.metadata import entry_points

        return entry_points(group=self.group)
