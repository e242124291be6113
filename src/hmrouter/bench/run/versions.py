"""Code versions: a hash of the source that a result depends on, so that a changed method reruns only itself."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import re
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

# What only presents rows, names classes or keeps vectors: changing it changes no result.
PRESENTATION = {"tables", "figures", "headline", "quick"}
WITHOUT_EFFECT = re.compile(
    r"hmrouter\.(store|bench\.(methods|report|judge\.history|experiments\.(summaries|quick|\w+\.report)))(\.|$)"
)


@dataclass(frozen=True, slots=True)
class _Source:
    digest: bytes
    imports: frozenset[str]


def version_of(*modules: str) -> str:
    """A hash over the code of these modules and of everything that they import of their own package and of hmrouter.

    Comments, docstrings and layout do not count; shipped data files that the code names do.

    >>> version_of("hmrouter.scorers.knn") == version_of("hmrouter.scorers.fixed")
    False
    """
    found: dict[str, bytes] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        ignored = name not in modules and WITHOUT_EFFECT.match(name)
        if name in found or ignored or (source := _source(name)) is None:
            continue
        found[name] = source.digest
        ours = {"hmrouter", name.partition(".")[0]}
        waiting += [m for m in source.imports if m.partition(".")[0] in ours]
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(found[name])
    return digest.hexdigest()[:16]


def module_of(thing: type | ModuleType) -> str:
    """The name of the module that defines a class."""
    module = inspect.getmodule(thing)
    return module.__name__ if module else ""


@cache
def _source(module: str) -> _Source | None:
    """Read a module's file; None if it is no module (`from a import b` may mean a module or a name)."""
    spec = _spec(module)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return None
    content = Path(spec.origin).read_bytes()
    if not spec.origin.endswith(".py"):  # compiled
        return _Source(hashlib.sha256(content).digest(), frozenset())
    tree = ast.parse(content)
    package = module if spec.submodule_search_locations is not None else module.rpartition(".")[0]
    imports = frozenset(_imports(tree, package))
    data = _data_files(tree)
    _drop_presentation(tree)
    return _Source(hashlib.sha256(ast.dump(tree).encode() + data).digest(), imports)


def _spec(module: str) -> ModuleSpec | None:
    parent = module.rpartition(".")[0]
    if parent:  # find_spec would import it, which is only needed where it is a package
        above = _spec(parent)
        if above is None or above.submodule_search_locations is None:
            return None
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


def _imports(tree: ast.Module, package: str) -> list[str]:
    out = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            out += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package)
            # A name is a module of the package, or something that the package's own code defines.
            whole = [f"{base}.{alias.name}" for alias in node.names]
            out += [name if _spec(name) else base for name in whole]
    return out


def _data_files(tree: ast.Module) -> bytes:
    """The content of the files in hmrouter.data that the source names, such as harness descriptions."""
    spec = _spec("hmrouter.data")
    places = spec.submodule_search_locations if spec else None
    out = b""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(".toml"):
            for file in (Path(place) / node.value for place in places or ()):
                out += file.read_bytes() if file.is_file() else b""
    return out


def _drop_presentation(tree: ast.Module) -> None:
    """Take out docstrings and what only presents; comments and layout are not in the tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            body = [n for n in node.body if _name(n) not in PRESENTATION]
            # also the strings that document a field
            body = [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
            node.body = body or [ast.Pass()]


def _name(node: ast.stmt) -> str:
    """Give the name of a class, a function or an annotated field; empty for any other statement."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    return node.target.id if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else ""
