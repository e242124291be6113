"""Vectors from an endpoint that answers as OpenAI's `/v1/embeddings` does: vLLM, TEI, Ollama, OpenAI itself.

Neither the address nor the key is saved with a router: a file from elsewhere cannot make this machine send texts, or
a key, to an address of its choice. Both come from the environment (or from the constructor) wherever it is loaded.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from hmrouter.errors import EmbedderMismatch, EndpointError, UsageError
from hmrouter.features.endpoint import EXAMPLE, JsonEndpoint
from hmrouter.features.pretrained import VARIABLE, PretrainedEmbedder, env_number, env_text
from hmrouter.state import Floats, State


class OpenAIEmbedder(PretrainedEmbedder):
    """A model behind an OpenAI-compatible embeddings endpoint.

    >>> OpenAIEmbedder("Qwen/Qwen3-Embedding-8B", "http://localhost:8000/v1", dims=1024).identity()["dims"]
    1024
    """

    name: ClassVar[str] = "openai"
    place: ClassVar[str] = "the embeddings endpoint"

    def __init__(
        self, model: str, base_url: str | None = None, *, dims: int | None = None, instruction: str = "",
        revision: str = "", max_chars: int | None = None, batch_size: int | None = None,
        timeout: float | None = None, retries: int | None = None, api_key_env: str = f"{VARIABLE}API_KEY",
    ) -> None:  # fmt: skip
        """`base_url`, `batch_size` (32), `timeout` (60 seconds without a byte) and `retries` (4) that are not given
        come from the environment when the first text is embedded. The key only ever does.
        """
        super().__init__(model, dims=dims, instruction=instruction, revision=revision, max_chars=max_chars)
        self.base_url = base_url
        self.batch_size = batch_size
        self.timeout = timeout
        self.retries = retries
        self.api_key_env = api_key_env
        self.served_as_: str | None = None

    @classmethod
    def from_environment(cls) -> Self:
        """Make the embedder that the environment describes; refused at once if it names no endpoint."""
        self = super().from_environment()
        _ = self._endpoint
        return self

    def state(self) -> State:
        """Save the settings that shape the vectors, and the name under which the server answered."""
        state = super().state()
        return State(state.arrays, {**state.meta, "served_as": self.served_as_})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the embedder, at the address that the environment names when it is used."""
        self = super().from_state(state)
        self.served_as_ = state.meta["served_as"]
        return self

    # -- inside -----------------------------------------------------------------------------------------------

    @cached_property
    def _endpoint(self) -> JsonEndpoint:
        url = self.base_url or env_text("URL")
        if not url:
            raise UsageError(
                f"the embedder {self.name!r} needs the address of an embeddings endpoint; set {VARIABLE}URL, "
                f"for example to {EXAMPLE}"
            )
        retries = env_number("RETRIES", least=0) if self.retries is None else self.retries
        timeout = self.timeout or env_number("TIMEOUT") or 60.0
        return JsonEndpoint(url, timeout=timeout, retries=4 if retries is None else retries)

    @property
    def _batch_size(self) -> int:
        return self.batch_size or env_number("BATCH_SIZE") or 32

    def _encode(self, texts: list[str]) -> Floats:
        asked: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": "float"}
        if self.dims is not None:
            asked["dimensions"] = self.dims  # a server that ignores it sends more, which is cut off later
        answer = self._endpoint.post(asked, key=self._key())
        try:
            rows = _rows(answer, len(texts))
        except ValueError as e:
            raise EndpointError(
                f"the embeddings endpoint at {self._endpoint.host} gave a wrong answer: {e}; "
                f"check that {VARIABLE}URL is an OpenAI-compatible endpoint for {self.model!r}"
            ) from e
        self._check_name(answer.get("model"))
        return rows

    def _check_name(self, name: Any) -> None:
        """Refuse an answer by another model: some servers use the one they have, whichever was asked for."""
        if not isinstance(name, str) or not name:
            return
        if self.served_as_ is None:
            self.served_as_ = name
        elif _plain(name) != _plain(self.served_as_):
            raise EmbedderMismatch(
                f"the embeddings endpoint at {self._endpoint.host} answered with the model {name!r} instead of "
                f"{self.served_as_!r}; set {VARIABLE}URL to one that serves that, or train again"
            )

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise UsageError(f"the key in {self.api_key_env} holds characters that no HTTP header can carry")
        return key


def _plain(name: str) -> str:
    """A model's name without the folder or the organisation that it is in.

    >>> _plain("Qwen/Qwen3-Embedding-8B") == _plain("/models/qwen3-embedding-8b/")
    True
    """
    return name.rstrip("/").rpartition("/")[2].lower()


def _rows(answer: Any, n: int) -> Floats:
    """The vectors of an answer in the order of the texts, (n, dims); ValueError says what is wrong with it."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ValueError("it has no list 'data' of objects")
    if len(data) != n:
        raise ValueError(f"{len(data)} vectors for {n} texts")
    order = [item.get("index") for item in data]
    if order != [None] * n:
        if sorted(i for i in order if isinstance(i, int)) != list(range(n)):
            raise ValueError(f"the fields 'index' are not the numbers from 0 to {n - 1}")
        data = sorted(data, key=lambda item: int(item["index"]))
    vectors = [item.get("embedding") for item in data]
    if not all(isinstance(v, list) and v and all(type(x) in (int, float) for x in v) for v in vectors):
        raise ValueError("an 'embedding' is not a list of numbers")
    if len({len(v) for v in vectors}) > 1:
        raise ValueError("its vectors have different lengths")
    rows = np.array(vectors, dtype=np.float64)
    if not np.isfinite(rows).all():
        raise ValueError("a vector holds NaN or an infinite number")
    return rows
