"""The common part of embedders with pretrained weights: a model's name, a form of the text, a length of vectors.

What shapes the vectors is part of the identity and is saved with the router. The length is learned from the first
vectors unless it is given; from then on another length is refused.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hmrouter.errors import EmbedderMismatch, UsageError
from hmrouter.features.base import Embedder, Vectors
from hmrouter.state import Floats, State

VARIABLE = "HMROUTER_EMBEDDINGS_"
"""How the environment variables begin that configure these embedders."""

log = logging.getLogger(__name__)


class PretrainedEmbedder(Embedder):
    """An embedder with a named model. Rows have unit length; an empty text is a row of zeros."""

    place: ClassVar[str]
    """Where the vectors come from, for messages."""

    def __init__(
        self, model: str, *, dims: int | None = None, instruction: str = "", revision: str = "",
        max_chars: int | None = None,
    ) -> None:  # fmt: skip
        """`dims` shortens the vectors of a model that was trained for it (MRL): the first numbers, at unit length.

        `instruction` says what the texts are for, in the form of Qwen3-Embedding; one that contains `{text}` is the
        whole form (`query: {text}`). `revision` names the weights where the model's name does not. Texts are cut
        after `max_chars` characters.
        """
        if not model:
            raise UsageError(f"the embedder {self.name!r} needs a model; set {VARIABLE}MODEL, or give model=...")
        for name, value in (("dims", dims), ("max_chars", max_chars)):
            if value is not None and value < 1:
                raise UsageError(f"{name} {value} is not at least 1; leave it out for all that there is")
        self.model = model
        self.dims = dims
        self.instruction = instruction
        self.revision = revision
        self.max_chars = max_chars
        self.dims_: int | None = None
        self._noted = False

    @classmethod
    def from_environment(cls) -> Self:
        """Make the embedder that the environment variables HMROUTER_EMBEDDINGS_... describe."""
        return cls(
            model=env_text("MODEL"), dims=env_number("DIMS"), instruction=env_text("INSTRUCTION"),
            revision=env_text("REVISION"), max_chars=env_number("MAX_CHARS"),
        )  # fmt: skip

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed each text as a row of unit length, zeros for an empty one."""
        rows = [i for i, text in enumerate(texts) if text.strip()]
        if not rows and self._length is None:
            self._finished(self._encode(["length"]))  # how many zeros there are, only a vector can tell
        written = [self._form(texts[i]) for i in rows]
        size = self._batch_size
        parts = [self._finished(self._encode(written[at : at + size])) for at in range(0, len(written), size)]
        out = np.zeros((len(texts), self._length or 0), dtype=np.float32)
        if parts:
            out[rows] = np.concatenate(parts)
        return out

    def expect(self, dims: int) -> Self:
        """Refuse vectors of another length from now on, and now if others were seen already."""
        self._settle(dims, "vectors that were kept have")
        return self

    def identity(self) -> dict[str, Any]:
        """Say what shapes the vectors, not where they are computed."""
        return {**self._asked(), "dims": self._length}

    @property
    def fingerprint(self) -> str:
        """Hash the settings without the length seen: it finds cached vectors before any vector tells the length."""
        return hashlib.sha256(json.dumps(self._asked(), sort_keys=True).encode()).hexdigest()[:16]

    def state(self) -> State:
        """Save the settings that shape the vectors, and the length seen."""
        return State(meta={"settings": self._settings(), "dims": self._length})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the settings that shape the vectors; the environment says where they are computed."""
        self = cls(**state.meta["settings"])
        self.dims_ = state.meta["dims"]
        return self

    # -- inside -----------------------------------------------------------------------------------------------

    @abstractmethod
    def _encode(self, texts: list[str]) -> Floats:
        """Compute the model's vectors, one row per text, finite."""

    @property
    @abstractmethod
    def _batch_size(self) -> int:
        """How many texts are encoded at a time."""

    def _settings(self) -> dict[str, Any]:
        return {
            "model": self.model, "dims": self.dims, "instruction": self.instruction, "revision": self.revision,
            "max_chars": self.max_chars,
        }  # fmt: skip

    def _asked(self) -> dict[str, Any]:
        return {"name": self.name, **self._settings()}

    @property
    def _length(self) -> int | None:
        return self.dims_ or self.dims

    def _form(self, text: str) -> str:
        text = text.encode("utf-8", "replace").decode()  # half of a surrogate pair is no text to a model
        if self.max_chars is not None and len(text) > self.max_chars:
            if not self._noted:
                log.warning("texts are cut after %s characters before they are embedded", f"{self.max_chars:,}")
                self._noted = True
            text = text[: self.max_chars]
        if "{text}" in self.instruction:
            return self.instruction.replace("{text}", text)
        return f"Instruct: {self.instruction}\nQuery:{text}" if self.instruction else text

    def _finished(self, raw: Floats) -> Vectors:
        """Cut rows to `dims` columns and bring them to unit length."""
        if self.dims is not None and self.dims_ is None and raw.shape[1] < self.dims:
            raise UsageError(
                f"dims {self.dims} is more than the {raw.shape[1]} numbers that {self.model!r} gives; "
                f"set {VARIABLE}DIMS lower or leave it out"
            )
        kept = np.asarray(raw[:, : self.dims], dtype=np.float64)
        self._settle(kept.shape[1], f"{self.place} gives")
        norms = np.linalg.norm(kept, axis=1, keepdims=True)
        return np.asarray(kept / np.where(norms > 0.0, norms, 1.0), dtype=np.float32)

    def _settle(self, dims: int, where: str) -> None:
        if self._length not in (None, dims):
            raise EmbedderMismatch(
                f"{where} {dims} numbers per text where {self._length} are expected of {self.model!r}; use the model "
                f"and the dims of before, or set {VARIABLE}REVISION to a new word and train again"
            )
        self.dims_ = dims


def env_text(name: str) -> str:
    """Read the environment variable HMROUTER_EMBEDDINGS_name, empty without it."""
    return os.environ.get(VARIABLE + name, "").strip()


def env_number(name: str, least: int = 1) -> int | None:
    """Read the whole number in such a variable, None without it."""
    text = env_text(name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise UsageError(f"{VARIABLE}{name} is {text!r}, not a whole number of at least {least}")
    return int(text)
