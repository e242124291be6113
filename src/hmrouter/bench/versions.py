"""Code versions: a hash of the source that a result depends on, so that a changed method reruns only itself."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
from functools import cache
from pathlib import Path
from types import ModuleType

# Functions and modules that only present rows: changing them changes no result.
PRESENTATION = {"tables", "figures"}
PRESENTATION_MODULES = {"hmrouter.bench.budgets", "hmrouter.bench.statistics"}


@cache
def version_of(*modules: str) -> str:
    """A hash over the source of these modules and of everything of the same packages that they import.

    >>> version_of("hmrouter.scorers.knn") == version_of("hmrouter.scorers.fixed")
    False
    """
    sources: dict[str, bytes] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in sources or name in PRESENTATION_MODULES or (path := _source_path(name)) is None:
            continue
        sources[name] = path.read_bytes()
        top = name.partition(".")[0]
        waiting += [m for m in _imported(sources[name], name) if m.partition(".")[0] == top]
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(_without_presentation(sources[name]))
    return digest.hexdigest()[:16]


def module_of(thing: type | ModuleType) -> str:
    """The name of the module that defines a class."""
    module = inspect.getmodule(thing)
    return module.__name__ if module else ""


def _source_path(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _imported(source: bytes, module: str) -> list[str]:
    """The modules that a source imports; `from a import b` may mean the module a.b."""
    out = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            out += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            out += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return out


def _without_presentation(source: bytes) -> bytes:
    """The source without comments, docstrings and what only presents."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            body = [n for n in node.body if not (isinstance(n, ast.FunctionDef) and n.name in PRESENTATION)]
            if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
                body = body[1:]
            node.body = body or [ast.Pass()]
    return ast.dump(tree).encode()
