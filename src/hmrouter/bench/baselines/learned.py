"""Networks over task vectors: PyTorch learns them, NumPy scores them.

A subclass writes its equation once, over arrays or tensors (`xp` is `numpy` or `torch`), so that what is learned is
what is scored, and a fitted baseline needs no PyTorch. All randomness comes from NumPy generators that are named and
seeded: PyTorch's global state is neither used nor changed, and a second fit is the same to the last bit.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from hmrouter.bench.baselines.atomic import Atomic
from hmrouter.bench.baselines.task_batches import TaskBatch, TaskBatches
from hmrouter.errors import MissingExtra
from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Training
from hmrouter.scorers.rng import named_rng
from hmrouter.state import Array, Floats

VALIDATION_SHARE = 0.1
"""Share of the training tasks that early stopping looks at."""
SCORING_BLOCK = 256
"""Tasks scored at once: bounds the memory of wide hidden layers."""


@dataclass(kw_only=True, eq=False)
class Learned(Atomic):
    """Binary cross-entropy over the observed cells, Adam, batches of whole tasks.

    Soft scores are soft targets; a cell that was not run has no part in the loss. Noise is drawn per task and batch.
    """

    lr: float
    weight_decay: float = 0.0
    """Coupled: part of the gradient."""
    batch: int = 2048
    """Cells in a batch, about: a task is never divided."""
    min_steps: int = 32
    """Steps of an epoch, at least: on small sets the batch shrinks for it (docs/decisions/0006); 0: never."""
    epochs: int
    noise: float = 0.0
    """Standard deviation of what is added to the task vectors while learning."""
    dropout: float = 0.0
    patience: int = 0
    """Stop after this many epochs without a better validation loss and keep the best; 0: all epochs, no validation."""

    identity: ClassVar[str]
    """The parameter with one row per route."""

    @abstractmethod
    def _fan_in(self) -> Mapping[str, tuple[tuple[int, ...], int]]:
        """Shape and fan-in of every parameter but the identities."""

    @abstractmethod
    def _draw_identity(self, rng: np.random.Generator) -> Floats:
        """The first value of a route's row."""

    @abstractmethod
    def _logits(self, p: Mapping[str, Any], x: Any, xp: Any, drop: Callable[[Any], Any]) -> Any:
        """The equation: logits (tasks, routes) of task vectors; `drop` is dropout while learning, else nothing."""

    def fit(self, training: Training) -> Self:
        """Learn; PyTorch runs on one thread, because more gain nothing at this size and would change the last bits."""
        torch = _import_torch(self.name)
        (learn, x), validation = self._carve_out(training)
        self._begin(learn, x)
        self.arrays_ = self._initial()
        cells = TaskBatches(learn, x, self.routes_)
        if len(cells):
            with _one_thread(torch):
                self._descend(torch, cells, TaskBatches(*validation, self.routes_))
        return self

    def _carve_out(self, training: Training) -> tuple[tuple[Dataset, Floats], tuple[Dataset, Floats]]:
        """Tasks to learn from and tasks to stop by. A route that only the latter saw counts as never run."""
        data, run = training.data, np.flatnonzero(np.diff(training.data.starts))
        held = np.zeros(len(data.tasks), dtype=bool)
        if self.patience and len(run) > 1:
            n = max(1, round(VALIDATION_SHARE * len(run)))
            held[named_rng(self.seed, self.name, "validation").permutation(run)[:n]] = True
        keys = [
            {t.key for t, is_held in zip(data.tasks, held, strict=True) if is_held == side} for side in (False, True)
        ]
        x = np.asarray(training.x)
        return (data.restrict(tasks=keys[0]), x[~held]), (data.restrict(tasks=keys[1]), x[held])

    def _initial(self) -> dict[str, Array]:
        """Linear layers uniform +-1/sqrt(fan in), identities as drawn; each by its name, never by its place."""
        p: dict[str, Array] = {}
        for name, (shape, fan_in) in self._fan_in().items():
            drawn = named_rng(self.seed, self.name, name).uniform(-1.0, 1.0, shape)
            p[name] = (drawn / max(1, fan_in) ** 0.5).astype(np.float32)
        rows = [self._draw_identity(named_rng(self.seed, self.name, self.identity, str(r))) for r in self.routes_]
        if rows:
            p[self.identity] = np.array(rows, dtype=np.float32)
        return p

    def _descend(self, torch: Any, cells: TaskBatches, validation: TaskBatches) -> None:
        p = {name: torch.from_numpy(value.copy()).requires_grad_() for name, value in self.arrays_.items()}
        adam = torch.optim.Adam(p.values(), lr=self.lr, weight_decay=self.weight_decay, fused=True)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(adam, factor=0.1, patience=2)
        rng = named_rng(self.seed, self.name, "training")
        size = min(self.batch, max(1, len(cells) // self.min_steps)) if self.min_steps else self.batch
        best, waited = np.inf, 0
        for epoch in range(self.epochs):
            for batch in cells.batches(size, rng):
                adam.zero_grad()
                self._loss(torch, p, batch, rng).backward()
                adam.step()
            self.report_progress(epoch + 1, self.epochs)
            if len(validation):
                with torch.no_grad():
                    held = list(validation.batches(self.batch))
                    sizes = [float(b.weight.sum()) for b in held]
                    losses = [float(self._loss(torch, p, b, None)) for b in held]
                loss = float(np.average(losses, weights=sizes))
                plateau.step(loss)
                waited = 0 if loss < best else waited + 1
                if waited == self.patience:
                    break
                if waited:
                    continue
                best = loss
            self.arrays_ = {name: value.detach().numpy().copy() for name, value in p.items()}

    def _loss(self, torch: Any, p: Mapping[str, Any], batch: TaskBatch, rng: np.random.Generator | None) -> Any:
        x = batch.x
        if rng is not None and self.noise:
            x = x + np.float32(self.noise) * rng.standard_normal(x.shape, dtype=np.float32)

        def drop(hidden: Any) -> Any:
            if rng is None or not self.dropout:
                return hidden
            kept = rng.random(tuple(hidden.shape), dtype=np.float32) >= self.dropout
            return hidden * torch.from_numpy(kept / np.float32(1.0 - self.dropout))

        z = self._logits(p, torch.from_numpy(x), torch, drop)
        y, weight = torch.from_numpy(batch.y), torch.from_numpy(batch.weight)
        cross_entropy = torch.nn.functional.binary_cross_entropy_with_logits
        return cross_entropy(z, y, weight=weight, reduction="sum") / weight.sum()

    def _known_scores(self, x: Floats) -> Floats:
        if not self.routes_:
            return np.zeros((len(x), 0))
        # float64, so that the size of a block does not show in the scores
        p = {name: value.astype(np.float64) for name, value in self.arrays_.items()}
        out = np.empty((len(x), len(self.routes_)))
        for begin in range(0, len(x), SCORING_BLOCK):
            block = slice(begin, begin + SCORING_BLOCK)
            out[block] = self._logits(p, x[block], np, lambda hidden: hidden)
        return out


def _import_torch(name: str) -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as e:
        raise MissingExtra(f"the baseline {name!r}", "bench") from e


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
