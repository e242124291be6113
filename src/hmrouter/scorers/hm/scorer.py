"""HM: the scorer of the paper. `network.py` has its equations; this file fits, scores, saves and loads it.

The paper's cold start: a component without outcomes has a zero identity and a zero summary, and a harness keeps its
description. The paper's probe: outcomes of a new component update its summary while its identity stays zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from hmrouter.scorers.base import Scorer, Training, require_dims
from hmrouter.scorers.hm.adam import Adam, Parameters
from hmrouter.scorers.hm.folded import LN_EPS, Ints, Rows, score_rows
from hmrouter.scorers.hm.network import Inputs, encode, loss_and_gradient, offset, shapes
from hmrouter.scorers.hm.summaries import Summaries
from hmrouter.scorers.rng import named_rng
from hmrouter.state import Floats, State
from hmrouter.types import Outcome, Route

SETTINGS = (
    "d",
    "side",
    "epochs",
    "batch_tasks",
    "lr",
    "weight_decay",
    "noise",
    "interaction",
    "linear_scale",
    "identity_scale",
    "ln_eps",
    "seed",
    "dtype",
)


class Factors(NamedTuple):
    """The part of Eq. scorer that depends on the pool only, not on the task."""

    of_model: Ints
    """The row of `models` for each route."""
    of_harness: Ints
    """The row of `harnesses` for each route."""
    models: Rows
    """u_m with w_M."""
    harnesses: Rows
    """u_h with w_H."""
    pairs: Rows
    """u_m * u_h of each route with w_MH; no rows without the interaction term."""
    offset: float
    """The part of the score that is the same for all routes."""


class HM(Scorer):
    """The paper's scorer; the defaults are the paper's settings (batch and initialisation: see docs/decisions)."""

    name: ClassVar[str] = "hm"

    def __init__(
        self,
        *,
        d: int = 32,
        side: int = 16,
        epochs: int = 250,
        batch_tasks: int = 32,
        lr: float = 1e-3,
        weight_decay: float = 1e-4,
        noise: float = 0.15,
        interaction: bool = True,
        linear_scale: float = 1.0,
        identity_scale: float = 1.0,
        ln_eps: float = LN_EPS,
        seed: int = 0,
        dtype: str = "float32",
    ) -> None:
        self.d, self.side = d, side
        self.epochs, self.batch_tasks = epochs, batch_tasks
        self.lr, self.weight_decay, self.noise = lr, weight_decay, noise
        self.interaction = interaction
        self.linear_scale, self.identity_scale, self.ln_eps = linear_scale, identity_scale, ln_eps
        self.seed = seed
        self.dtype: Any = dtype
        self._cached: tuple[tuple[Route, ...], Factors] | None = None

    # -- learning -----------------------------------------------------------------------------------------------

    def fit(self, training: Training) -> Self:
        """Minimise Eq. training_loss with Adam over minibatches of tasks, all their observed routes at once."""
        data, x = training.data, np.ascontiguousarray(training.x, dtype=self.dtype)
        routes = [r for r, seen in zip(data.routes, data.observed, strict=True) if seen]
        self.models_ = sorted({r.model for r in routes})
        self.harnesses_ = sorted({r.harness for r in routes})
        self.summaries_ = Summaries.of(data, x)
        self.harness_vectors_ = {h: np.asarray(v, dtype=self.dtype) for h, v in training.harness_vectors.items()}
        self.parameters_ = self._initial()
        self.loss_: list[float] = []
        self._forget_factors()

        of_model = _one_hot([r.model for r in routes], self.models_, self.dtype)
        of_harness = _one_hot([r.harness for r in routes], self.harnesses_, self.dtype)
        fixed = (*self._summary_rows(self.models_, self.harnesses_), self._text_rows(self.harnesses_))
        p, grad = self.parameters_, Parameters(self.parameters_.shapes, self.dtype)
        adam = Adam(p.flat.size, self.dtype, lr=self.lr, weight_decay=self.weight_decay)
        rng = named_rng(self.seed, "training")
        column = np.cumsum(data.observed) - 1  # route of the data set -> route of the training pool
        cell_route, cell_score = column[data.cells.route], data.cells.score.astype(self.dtype)
        fade = data.cells.faded  # relative to the mean cell: the step size does not depend on the age of the whole
        cell_weight = None if fade is None else (fade / fade.mean()).astype(self.dtype)
        starts, counts = data.starts[:-1], np.diff(data.starts)
        run = np.flatnonzero(counts)  # tasks with at least one outcome
        for epoch in range(self.epochs if len(run) else 0):
            order, total = rng.permutation(run), 0.0
            for begin in range(0, len(order), self.batch_tasks):
                tasks = order[begin : begin + self.batch_tasks]
                n = counts[tasks]
                row = np.repeat(np.arange(len(tasks)), n)
                cell = np.arange(n.sum()) + np.repeat(starts[tasks] - (np.cumsum(n) - n), n)
                # Only the routes that this batch saw take part: sparse logs cost what they hold.
                used, at = np.unique(cell_route[cell], return_inverse=True)
                y = np.zeros((len(tasks), len(used)), dtype=self.dtype)
                weight = np.zeros_like(y)
                y[row, at] = cell_score[cell]
                weight[row, at] = (1.0 if cell_weight is None else cell_weight[cell]) / len(cell)
                noisy = rng.standard_normal((len(tasks), x.shape[1]), dtype=self.dtype)
                noisy *= self.noise
                noisy += x[tasks]
                inputs = Inputs(noisy, *fixed, of_model[used], of_harness[used])
                loss, _ = loss_and_gradient(p, inputs, y, weight, grad, self.ln_eps)
                adam.step(p.flat, grad.flat)
                total += loss * len(cell)
            self.loss_.append(total / len(cell_route))
            self.report_progress(epoch + 1, self.epochs)
        return self

    def observe(self, outcome: Outcome, x: Floats) -> None:
        """Update the summaries; a component that was not in the fit keeps an identity of zero."""
        self._require_fitted("summaries_").add(outcome, x)
        self._forget_factors()

    def after(self, outcome: Outcome, x: Floats) -> Self:
        """Return a scorer with summaries of its own; the two share the ledger, which only learning reads."""
        new = copy(self)
        new.summaries_ = self._require_fitted("summaries_").apart()
        new.observe(outcome, x)
        return new

    def describe(self, harness: str, vector: Floats) -> None:
        """Keep the description of a new harness."""
        known = self._require_fitted("harness_vectors_")
        self.harness_vectors_ = known | {harness: np.asarray(vector, dtype=self.dtype)}
        self._forget_factors()

    def told(self, descriptions: Mapping[str, Floats]) -> Self:
        """Return a scorer with descriptions of its own; the two share the ledger, which only learning reads."""
        new = copy(self)
        for harness, vector in descriptions.items():
            new.describe(harness, vector)
        return new

    # -- scoring ------------------------------------------------------------------------------------------------

    def score(self, x: Floats, routes: Sequence[Route]) -> Floats:
        """Apply Eq. scorer to all tasks and routes; a pair needs no parameters of its own."""
        p: Parameters = self._require_fitted("parameters_")
        x = np.ascontiguousarray(x, dtype=self.dtype)
        require_dims(x, p["W_q"].shape[1])
        of_model, of_harness, models, harnesses, pairs, same = self._factors(tuple(routes))
        q = x @ p["W_q"].T + p["W_q.b"]
        out = np.empty((len(of_model), len(x)), dtype=self.dtype)  # routes first: blocks are contiguous
        m, h = np.empty((len(models.a), len(x)), out.dtype), np.empty((len(harnesses.a), len(x)), out.dtype)
        score_rows(q, models, m)
        score_rows(q, harnesses, h)
        m += same
        if self.interaction:
            score_rows(q, pairs, out, add=((m, of_model), (h, of_harness)))
        else:
            np.add(m[of_model], h[of_harness], out=out)
        return out.T

    def _factors(self, routes: tuple[Route, ...]) -> Factors:
        """Give the factors of a pool, kept until another pool is asked for or an outcome changes a summary."""
        kept = self._cached
        # Comparing 100,000 routes takes longer than scoring them for a task: the same tuple is not looked at.
        factors = kept[1] if kept and (kept[0] is routes or kept[0] == routes) else self._encode_pool(routes)
        self._cached = (routes, factors)  # an equal tuple takes the old one's place, to be the same next time
        return factors

    def _encode_pool(self, routes: tuple[Route, ...]) -> Factors:
        models, harnesses = sorted({r.model for r in routes}), sorted({r.harness for r in routes})
        p = Parameters(self._shapes(len(models), len(harnesses)), self.dtype)
        for name, value in self.parameters_.items().items():
            if name not in ("e_m", "e_h"):
                p[name][:] = value
        _copy_rows(p["e_m"], models, self.parameters_["e_m"], self.models_)
        _copy_rows(p["e_h"], harnesses, self.parameters_["e_h"], self.harnesses_)
        no_tasks, none = np.zeros((0, p["W_q"].shape[1]), self.dtype), np.zeros((0, self.d), self.dtype)
        inputs = Inputs(no_tasks, *self._summary_rows(models, harnesses), self._text_rows(harnesses), none, none)
        _, u_m, u_h, _, _ = encode(p, inputs)
        of_model = _positions([r.model for r in routes], models)
        of_harness = _positions([r.harness for r in routes], harnesses)
        pairs = Rows(none, none, none)
        if self.interaction:
            pairs = Rows.of(u_m[of_model] * u_h[of_harness], p["w_MH"] * p["LN_MH.gain"], self.ln_eps)
        by_model = Rows.of(u_m, p["w_M"] * p["LN_M.gain"], self.ln_eps)
        by_harness = Rows.of(u_h, p["w_H"] * p["LN_H.gain"], self.ln_eps)
        return Factors(of_model, of_harness, by_model, by_harness, pairs, offset(p))

    def _forget_factors(self) -> None:
        self._cached = None

    def _summary_rows(self, models: Sequence[str], harnesses: Sequence[str]) -> tuple[Floats, Floats]:
        s = self.summaries_
        z_m = np.array([s.model(m) for m in models], dtype=self.dtype).reshape(-1, s.dims)
        return z_m, np.array([s.harness(h) for h in harnesses], dtype=self.dtype).reshape(-1, s.dims)

    def _text_rows(self, harnesses: Sequence[str]) -> Floats:
        unknown = np.zeros(self.summaries_.dims - 2, dtype=self.dtype)
        rows = [self.harness_vectors_.get(h, unknown) for h in harnesses]
        return np.array(rows, dtype=self.dtype).reshape(len(harnesses), len(unknown))

    # -- beginning and keeping ----------------------------------------------------------------------------------

    def _shapes(self, n_models: int, n_harnesses: int) -> dict[str, tuple[int, ...]]:
        return shapes(n_models, n_harnesses, self.summaries_.dims - 2, self.d, self.side, self.interaction)

    def _initial(self) -> Parameters:
        """Draw linear layers uniform +-scale/sqrt(fan in) and identities N(0, scale^2), each seeded by its name."""
        p = Parameters(self._shapes(len(self.models_), len(self.harnesses_)), self.dtype)
        for name, value in p.items().items():
            if name.startswith("e_"):
                for row, component in zip(value, self.models_ if name == "e_m" else self.harnesses_, strict=True):
                    row[:] = self.identity_scale * named_rng(self.seed, name, component).standard_normal(len(row))
            elif name.endswith(".gain"):
                value[:] = 1.0
            elif name != "b" and not name.startswith("LN_"):
                fan_in = p[name.removesuffix(".b")].shape[-1]
                bound = self.linear_scale / max(1, fan_in) ** 0.5
                value[:] = bound * named_rng(self.seed, name).uniform(-1.0, 1.0, value.shape)
        return p

    def state(self) -> State:
        """Give parameters, summaries, descriptions and settings."""
        p: Parameters = self._require_fitted("parameters_")
        settings = {key: getattr(self, key) for key in SETTINGS}
        names = {"models": self.models_, "harnesses": self.harnesses_, "described": list(self.harness_vectors_)}
        texts = self._text_rows(list(self.harness_vectors_))
        return State.join(
            network=State(p.items(), {"settings": settings, **names, "loss": self.loss_[-1:]}),
            texts=State({"vectors": texts}),
            summaries=self.summaries_.state(),
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the fitted scorer."""
        network = state.part("network")
        self = cls(**network.meta["settings"])
        self.models_, self.harnesses_ = list(network.meta["models"]), list(network.meta["harnesses"])
        self.loss_ = list(network.meta["loss"])
        self.summaries_ = Summaries.from_state(state.part("summaries"))
        vectors = state.part("texts").arrays["vectors"]
        self.harness_vectors_ = dict(zip(network.meta["described"], vectors, strict=True))
        self.parameters_ = Parameters(self._shapes(len(self.models_), len(self.harnesses_)), self.dtype)
        for name, value in self.parameters_.items().items():
            value[:] = network.arrays[name]
        self._forget_factors()
        return self


class ComponentOnly(HM):
    """HM without the interaction term, everything else unchanged (Table interaction)."""

    name: ClassVar[str] = "component_only"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "interaction": False})


def _positions(names: Sequence[str], distinct: Sequence[str]) -> Ints:
    at = {name: i for i, name in enumerate(distinct)}
    return np.array([at[name] for name in names], dtype=np.int64)


def _one_hot(names: Sequence[str], distinct: Sequence[str], dtype: str) -> Floats:
    out = np.zeros((len(names), len(distinct)), dtype=dtype)
    out[np.arange(len(names)), _positions(names, distinct)] = 1.0
    return out


def _copy_rows(to: Floats, names: Sequence[str], source: Floats, source_names: Sequence[str]) -> None:
    """Copy rows by name; a name without a source keeps its zeros (cold start)."""
    at = {name: i for i, name in enumerate(source_names)}
    for i, name in enumerate(names):
        if name in at:
            to[i] = source[at[name]]
