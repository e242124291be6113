"""The paper's scorer in eager PyTorch, as one would write it: LayerNorm on the three product tensors."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from hmrouter.errors import MissingExtra
from hmrouter.scorers.base import Training
from hmrouter.scorers.hm import HM
from hmrouter.scorers.hm.summaries import Summaries


def trainer(training: Training, like: HM) -> Callable[[], Any]:
    """A function that trains the same model in the same number of steps and returns it."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        raise MissingExtra("the comparison with PyTorch", "bench") from None
    torch.set_num_threads(1)
    nn, data = torch.nn, training.data
    summaries = Summaries.of(data, training.x)
    x = torch.from_numpy(training.x)
    z_m = torch.tensor(np.array([summaries.model(m) for m in data.models]), dtype=torch.float32)
    z_h = torch.tensor(np.array([summaries.harness(h) for h in data.harnesses]), dtype=torch.float32)
    t_h = torch.tensor(np.array([training.harness_vectors[h] for h in data.harnesses]))
    model, harness = torch.from_numpy(data.route_model), torch.from_numpy(data.route_harness)
    matrix = data.matrix()
    y = torch.tensor(matrix.filled(0.0), dtype=torch.float32)
    observed = torch.tensor(~np.ma.getmaskarray(matrix), dtype=torch.float32)
    n, dims = x.shape

    def layers() -> Any:
        d, s = like.d, like.side
        return nn.ModuleDict(
            {
                "W_q": nn.Linear(dims, d),
                "e_m": nn.Embedding(len(data.models), s), "P_m": nn.Linear(dims + 2, s), "W_m": nn.Linear(2 * s, d),
                "e_h": nn.Embedding(len(data.harnesses), s), "P_h": nn.Linear(dims + 2, s), "T_h": nn.Linear(dims, s),
                "W_h": nn.Linear(3 * s, d),
                "LN_M": nn.LayerNorm(d), "LN_H": nn.LayerNorm(d), "LN_MH": nn.LayerNorm(d),
                "w_M": nn.Linear(d, 1), "w_H": nn.Linear(d, 1, bias=False), "w_MH": nn.Linear(d, 1, bias=False),
            }
        )  # fmt: skip

    def scores(net: Any, batch: Any) -> Any:
        q = net["W_q"](batch)[:, None, :]
        u_m = net["W_m"](torch.cat([net["e_m"].weight, net["P_m"](z_m)], dim=-1))[model]
        u_h = net["W_h"](torch.cat([net["e_h"].weight, net["P_h"](z_h), net["T_h"](t_h)], dim=-1))[harness]
        by_model, by_harness = net["w_M"](net["LN_M"](u_m * q)), net["w_H"](net["LN_H"](u_h * q))
        return (by_model + by_harness + net["w_MH"](net["LN_MH"](u_m * u_h * q))).squeeze(-1)

    def train() -> Any:
        net = layers()
        optimiser = torch.optim.Adam(net.parameters(), lr=like.lr, weight_decay=like.weight_decay)
        for _ in range(like.epochs):
            for tasks in torch.randperm(n).split(like.batch_tasks):
                noisy = x[tasks] + like.noise * torch.randn(len(tasks), dims)
                loss = nn.functional.binary_cross_entropy_with_logits(
                    scores(net, noisy), y[tasks], weight=observed[tasks], reduction="sum"
                )
                optimiser.zero_grad()
                (loss / observed[tasks].sum()).backward()
                optimiser.step()
        return net

    return train
