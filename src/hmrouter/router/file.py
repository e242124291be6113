"""`router.hmr`: one safetensors file whose metadata holds everything else as JSON. Loading never executes code."""

from __future__ import annotations

import hashlib
import json
import os.path
from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from hmrouter.errors import RouterFileError
from hmrouter.files import atomic_write
from hmrouter.state import Array, State

FORMAT = 2
"""Since 2, an LSA embedder has its terms in an array, and none that only one or two texts have."""
READABLE = (1, FORMAT)
KEY = "hmrouter"
CHECKSUM = "sha256"


def write_router_file(path: str | Path, state: State) -> None:
    """Write a router's state to a file, replacing an old one in one step."""
    from safetensors.numpy import save

    document = json.dumps({"format": FORMAT, **state.meta}, ensure_ascii=False, allow_nan=False)
    arrays = {name: np.ascontiguousarray(value) for name, value in state.arrays.items()}
    atomic_write(path, save(arrays, metadata={KEY: document, CHECKSUM: checksum(document, arrays)}))


def read_router_file(path: str | Path) -> State:
    """Read a file that `write_router_file` wrote; anything else is refused with the reason."""
    from safetensors import SafetensorError, safe_open

    if not os.path.exists(path):
        raise RouterFileError(f"there is no router file {path}", hint="make_router", path=path)
    if not os.path.isfile(path):
        raise RouterFileError(f"{path} is not a file", hint="router_file")
    try:
        with safe_open(str(path), framework="numpy") as f:
            metadata = f.metadata() or {}
            arrays = {name: f.get_tensor(name) for name in f.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as e:  # the last two: an unknown dtype
        raise RouterFileError(f"{path} is not a whole router file ({brief(str(e))}); train again or use a copy") from e
    if KEY not in metadata:
        raise RouterFileError(f"{path} is a safetensors file, but not a router", hint="router_file")
    try:
        document: dict[str, Any] = json.loads(metadata[KEY])
        version = document.pop("format")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as e:
        raise RouterFileError(f"the metadata of {path} is damaged ({brief(str(e))}); train again or use a copy") from e
    if version not in READABLE:
        raise RouterFileError(
            f"{path} has router format {brief(repr(version))}, this version reads format {FORMAT}", hint="fit_again"
        )
    if metadata.get(CHECKSUM) != checksum(metadata[KEY], arrays):
        raise RouterFileError(f"{path} is damaged, its checksum does not fit; train again or use a copy")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise RouterFileError(f"the array {name!r} in {path} holds NaN or infinity; train again or use a copy")
    return State(arrays, document)


def checksum(document: str, arrays: Mapping[str, Array]) -> str:
    """Compute a checksum that detects damage by accident; whoever changes a file on purpose can compute it, too."""
    digest = hashlib.sha256(document.encode("utf-8", "surrogatepass"))
    for name, array in sorted(arrays.items()):
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def brief(reason: str) -> str:
    """Shorten a reason to one line that cannot flood a terminal, whatever the file holds."""
    return shorten(reason, 300, placeholder="...")
