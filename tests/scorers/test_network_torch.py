"""PyTorch as the oracle: the paper's scorer written as one would there, with autograd and torch's own Adam."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hmrouter.evidence.dataset import Dataset
from hmrouter.scorers.base import Training
from hmrouter.scorers.hm import HM
from hmrouter.scorers.hm.adam import Adam, Parameters
from hmrouter.scorers.hm.network import Inputs, loss_and_gradient, shapes
from hmrouter.scorers.hm.summaries import Summaries
from hmrouter.state import Floats
from hmrouter.types import Outcome, Route, Task

pytestmark = pytest.mark.heavy

M, H, D, FACTORS, SIDE = 4, 3, 10, 32, 16


@pytest.fixture(scope="module")
def torch() -> Any:
    """A fixture, so that collecting the tests does not import PyTorch."""
    return pytest.importorskip("torch", reason="the oracle is PyTorch: pip install '.[bench]'")


def oracle(torch: Any, n_models: int, n_harnesses: int, dims: int, interaction: bool) -> Any:
    nn = torch.nn
    layers = {
        "W_q": nn.Linear(dims, FACTORS),
        "e_m": nn.Embedding(n_models, SIDE),
        "P_m": nn.Linear(dims + 2, SIDE),
        "W_m": nn.Linear(2 * SIDE, FACTORS),
        "e_h": nn.Embedding(n_harnesses, SIDE),
        "P_h": nn.Linear(dims + 2, SIDE),
        "T_h": nn.Linear(dims, SIDE),
        "W_h": nn.Linear(3 * SIDE, FACTORS),
        "LN_M": nn.LayerNorm(FACTORS),
        "w_M": nn.Linear(FACTORS, 1),  # its bias is the paper's b
        "LN_H": nn.LayerNorm(FACTORS),
        "w_H": nn.Linear(FACTORS, 1, bias=False),
    }
    if interaction:
        layers |= {"LN_MH": nn.LayerNorm(FACTORS), "w_MH": nn.Linear(FACTORS, 1, bias=False)}
    return nn.ModuleDict(layers).double()


def oracle_scores(torch: Any, net: Any, x: Any, z_m: Any, z_h: Any, t_h: Any, model: Any, harness: Any) -> Any:
    """Scores (B, K) of routes given by the positions of their models and harnesses."""
    q = net["W_q"](x)[:, None, :]  # (B, 1, d)
    u_m = net["W_m"](torch.cat([net["e_m"].weight, net["P_m"](z_m)], dim=-1))[model]  # (K, d)
    u_h = net["W_h"](torch.cat([net["e_h"].weight, net["P_h"](z_h), net["T_h"](t_h)], dim=-1))[harness]
    s = net["w_M"](net["LN_M"](u_m * q)) + net["w_H"](net["LN_H"](u_h * q))  # (B, K, 1)
    if "w_MH" in net:
        s = s + net["w_MH"](net["LN_MH"](u_m * u_h * q))
    return s.squeeze(-1)


def our_name(name: str) -> str:
    """The same parameter here: `W_q.weight` is `W_q`, `LN_M.weight` its gain."""
    layer, kind = name.split(".")
    if name == "w_M.bias":
        return "b"
    if layer.startswith("LN_"):
        return f"{layer}.{'gain' if kind == 'weight' else 'bias'}"
    return layer if kind == "weight" else f"{layer}.b"


def copy_into(torch: Any, net: Any, p: Parameters) -> None:
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            parameter.copy_(torch.tensor(p[our_name(name)]).reshape(parameter.shape))


def bce(torch: Any, scores: Any, y: Floats, weight: Floats) -> Any:
    return torch.nn.functional.binary_cross_entropy_with_logits(
        scores, torch.tensor(y), weight=torch.tensor(weight), reduction="sum"
    )


@pytest.mark.parametrize("interaction", [True, False])
@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_scores_and_gradients_equal_autograd(torch: Any, interaction: bool, soft: bool, masked: bool) -> None:
    rng = np.random.default_rng(0)
    model, harness = np.divmod(rng.permutation(M * H)[:9], H)
    p = Parameters(shapes(M, H, D, FACTORS, SIDE, interaction), np.float64)
    p.flat[:] = 0.5 * rng.standard_normal(p.flat.size)
    x, t_h = rng.standard_normal((7, D)), rng.standard_normal((H, D))
    z_m, z_h = rng.standard_normal((M, D + 2)), rng.standard_normal((H, D + 2))
    y = rng.random((7, 9)) if soft else rng.integers(2, size=(7, 9)).astype(np.float64)
    weight = (rng.random((7, 9)) < 0.4).astype(np.float64) if masked else np.ones((7, 9))
    weight /= weight.sum()
    grad = Parameters(p.shapes, np.float64)
    inputs = Inputs(x, z_m, z_h, t_h, np.eye(M)[model], np.eye(H)[harness])
    loss, scores = loss_and_gradient(p, inputs, y, weight, grad)

    net = oracle(torch, M, H, D, interaction)
    copy_into(torch, net, p)
    x, z_m, z_h, t_h, model, harness = map(torch.tensor, (x, z_m, z_h, t_h, model, harness))
    expected = oracle_scores(torch, net, x, z_m, z_h, t_h, model, harness)
    expected_loss = bce(torch, expected, y, weight)
    expected_loss.backward()

    np.testing.assert_allclose(scores, expected.detach().numpy(), rtol=0, atol=1e-9)
    assert loss == pytest.approx(expected_loss.item(), abs=1e-12)
    compared = 0
    for name, parameter in net.named_parameters():
        ours = grad[our_name(name)].reshape(parameter.shape)
        np.testing.assert_allclose(ours, parameter.grad.numpy(), rtol=1e-7, atol=1e-9, err_msg=name)
        compared += ours.size
    assert compared == p.flat.size


def test_adam_equals_torchs(torch: Any) -> None:
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(50)
    parameter = torch.nn.Parameter(torch.tensor(theta))
    ours = Adam(50, np.float64, lr=1e-2, weight_decay=1e-4)
    theirs = torch.optim.Adam([parameter], lr=1e-2, weight_decay=1e-4)
    for _ in range(25):
        gradient = rng.standard_normal(50)
        parameter.grad = torch.tensor(gradient)
        theirs.step()
        ours.step(theta, gradient.copy())
        np.testing.assert_allclose(theta, parameter.detach().numpy(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("interaction", [True, False])
def test_a_whole_training_equals_torchs(torch: Any, interaction: bool) -> None:
    """From outcomes to scores: full batches, no noise, sparse cells with soft scores, and an unobserved pair."""
    rng = np.random.default_rng(2)
    routes = [Route(f"m{i}", f"h{j}") for i in range(M) for j in range(H)]
    outcomes = [
        Outcome(Task(f"t{t:02d}"), route, float(rng.random()))
        for t in range(20) for route in routes[:-1] if rng.random() < 0.5
    ]  # fmt: skip
    data = Dataset(outcomes, routes=routes)
    x = rng.standard_normal((len(data.tasks), D))
    texts = {h: rng.standard_normal(D) for h in data.harnesses}
    settings: dict[str, Any] = {"noise": 0.0, "batch_tasks": 1_000, "interaction": interaction, "dtype": "float64"}
    training = Training(data, x, texts)
    start = HM(epochs=0, **settings).fit(training)
    hm = HM(epochs=12, lr=1e-2, **settings).fit(training)

    summaries = Summaries.of(data, x)
    z_m = torch.tensor(np.array([summaries.model(m) for m in data.models]))
    z_h = torch.tensor(np.array([summaries.harness(h) for h in data.harnesses]))
    t_h = torch.tensor(np.array([texts[h] for h in data.harnesses]))
    model, harness = torch.tensor(data.route_model), torch.tensor(data.route_harness)
    scores = data.matrix()
    observed = ~np.ma.getmaskarray(scores)
    net = oracle(torch, M, H, D, interaction)
    copy_into(torch, net, start.parameters_)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=1e-4)
    losses = []
    for _ in range(12):
        optimiser.zero_grad()
        predicted = oracle_scores(torch, net, torch.tensor(x), z_m, z_h, t_h, model, harness)
        loss = bce(torch, predicted, scores.filled(0.0), observed / observed.sum())
        loss.backward()
        optimiser.step()
        losses.append(loss.item())

    assert hm.loss_ == pytest.approx(losses, abs=1e-10)
    assert losses[-1] < losses[0] - 0.05
    new = rng.standard_normal((6, D))
    expected = oracle_scores(torch, net, torch.tensor(new), z_m, z_h, t_h, model, harness).detach().numpy()
    np.testing.assert_allclose(hm.score(new, data.routes), expected, rtol=0, atol=1e-7)
