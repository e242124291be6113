"""Vectors from a sentence-transformers model on this machine (extra `embeddings`).

The model is the name of one on the Hugging Face hub or a directory. It is loaded when the first text is embedded;
with HF_HUB_OFFLINE=1 nothing is downloaded. Code that comes with a model is not run.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from hmrouter.errors import EmbedderMismatch, InputError, MissingExtra
from hmrouter.features.pretrained import VARIABLE, PretrainedEmbedder
from hmrouter.state import Floats, State

# Hashing gigabytes of weights would take longer than loading them; other weights differ at their ends, too.
ENDS = 2**20


class SentenceEmbedder(PretrainedEmbedder):
    """A sentence-transformers model.

    >>> SentenceEmbedder("all-MiniLM-L6-v2", dims=128).identity()["model"]
    'all-MiniLM-L6-v2'
    """

    name: ClassVar[str] = "sentence-transformers"
    place: ClassVar[str] = "the sentence-transformers model"

    def __init__(
        self, model: str, *, dims: int | None = None, instruction: str = "", revision: str = "",
        max_chars: int | None = None, batch_size: int = 32, device: str | None = None,
    ) -> None:  # fmt: skip
        """`device` as PyTorch names it; by default what sentence-transformers finds best."""
        super().__init__(model, dims=dims, instruction=instruction, revision=revision, max_chars=max_chars)
        self.batch_size = batch_size
        self.device = device
        self.files_ = directory_hash(Path(model))

    def state(self) -> State:
        """Save the settings that shape the vectors; of a directory also the hash of its files."""
        state = super().state()
        return State(state.arrays, {**state.meta, "files": self.files_})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the embedder; the model is looked for when it is used."""
        self = super().from_state(state)
        self.files_ = state.meta["files"]
        return self

    # -- inside -----------------------------------------------------------------------------------------------

    def _asked(self) -> dict[str, Any]:
        # Other weights at the same place are another model.
        return {**super()._asked(), "files": self.files_}

    @cached_property
    def _loaded(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise MissingExtra("the embedder 'sentence-transformers'", "embeddings") from None
        if self.files_ and (found := directory_hash(Path(self.model))) not in ("", self.files_):
            raise EmbedderMismatch(
                f"the files in {self.model} are not those of before (hash {found} instead of {self.files_}); "
                "put them back, or train again"
            )
        revision = self.revision or None
        try:
            return SentenceTransformer(self.model, device=self.device, revision=revision, trust_remote_code=False)
        except Exception as e:  # whatever the hub, the files or PyTorch object to
            reason = " ".join(str(e).split())[:300]
            raise InputError(
                f"the sentence-transformers model {self.model!r} cannot be loaded ({reason}); set {VARIABLE}MODEL to "
                "a directory or a name on the hub (with HF_HUB_OFFLINE=1, one that was downloaded before)"
            ) from e

    @property
    def _batch_size(self) -> int:
        return 16 * self.batch_size  # the library sorts what it gets by length, which saves padding

    def _encode(self, texts: list[str]) -> Floats:
        vectors = self._loaded.encode(texts, batch_size=self.batch_size, show_progress_bar=False)
        rows = np.asarray(vectors, dtype=np.float64)
        if not np.isfinite(rows).all():
            raise InputError(f"the sentence-transformers model {self.model!r} gave NaN or an infinite number")
        return rows


def directory_hash(path: Path) -> str:
    """Hash the names, sizes and ends of the files in a model's directory; empty if there is none."""
    if not path.is_dir():
        return ""
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path).as_posix()} {size}\n".encode())
        with file.open("rb") as opened:
            digest.update(opened.read(ENDS))
            opened.seek(max(0, size - ENDS))
            digest.update(opened.read(ENDS))
    return digest.hexdigest()[:16]
