"""The hand-derived gradient against central finite differences, and the score against Eq. scorer written out."""

from __future__ import annotations

import numpy as np
import pytest

from hmrouter.scorers.hm.adam import Parameters
from hmrouter.scorers.hm.network import Inputs, loss_and_gradient, shapes
from hmrouter.state import Floats

M, H, K, B, D, FACTORS, SIDE = 3, 2, 5, 4, 6, 8, 3
OF_MODEL, OF_HARNESS = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 0, 0, 1])


def network(interaction: bool, seed: int = 0) -> tuple[Parameters, Inputs]:
    rng = np.random.default_rng(seed)
    p = Parameters(shapes(M, H, D, FACTORS, SIDE, interaction), np.float64)
    p.flat[:] = 0.7 * rng.standard_normal(p.flat.size)
    x, t_h = rng.standard_normal((B, D)), rng.standard_normal((H, D))
    z_m, z_h = rng.standard_normal((M, D + 2)), rng.standard_normal((H, D + 2))
    return p, Inputs(x, z_m, z_h, t_h, np.eye(M)[OF_MODEL], np.eye(H)[OF_HARNESS])


def cells(kind: str, seed: int = 1) -> tuple[Floats, Floats]:
    """Targets and weights; a masked cell has weight zero."""
    rng = np.random.default_rng(seed)
    y, weight = rng.integers(2, size=(B, K)).astype(np.float64), np.ones((B, K))
    if "soft" in kind:
        y = rng.random((B, K))
    if "masked" in kind:
        weight = (rng.random((B, K)) < 0.5).astype(np.float64)
        weight[0] = 0.0  # a task without any outcome
        weight[:, 1] = 0.0  # a route without any
    if "faded" in kind:
        weight *= rng.random((B, K))
    return y, weight / weight.sum()


def eq_scorer(p: Parameters, inputs: Inputs, task: int, route: int) -> float:
    """Eq. component_encoders and Eq. scorer for one task and one route, symbol by symbol."""
    m, h = OF_MODEL[route], OF_HARNESS[route]
    q = p["W_q"] @ inputs.x[task] + p["W_q.b"]
    u_m = p["W_m"] @ np.concatenate([p["e_m"][m], p["P_m"] @ inputs.z_m[m] + p["P_m.b"]]) + p["W_m.b"]
    side, text = p["P_h"] @ inputs.z_h[h] + p["P_h.b"], p["T_h"] @ inputs.t_h[h] + p["T_h.b"]
    u_h = p["W_h"] @ np.concatenate([p["e_h"][h], side, text]) + p["W_h.b"]
    products = {"M": u_m * q, "H": u_h * q}
    if "w_MH" in p.shapes:
        products["MH"] = u_m * u_h * q
    s = p["b"][0]
    for term, product in products.items():
        normal = (product - product.mean()) / np.sqrt(product.var() + 1e-5)
        s += p[f"w_{term}"] @ (p[f"LN_{term}.gain"] * normal + p[f"LN_{term}.bias"])
    return float(s)


@pytest.mark.parametrize("interaction", [True, False])
def test_score_and_loss_are_the_papers(interaction: bool) -> None:
    p, inputs = network(interaction)
    y, weight = cells("soft, masked")
    loss, s = loss_and_gradient(p, inputs, y, weight, Parameters(p.shapes, np.float64))
    expected = np.array([[eq_scorer(p, inputs, i, j) for j in range(K)] for i in range(B)])
    np.testing.assert_allclose(s, expected, rtol=0, atol=1e-9)
    chance = 1.0 / (1.0 + np.exp(-expected))
    cross_entropy = -(y * np.log(chance) + (1 - y) * np.log(1 - chance))
    assert loss == pytest.approx(float(cross_entropy[weight > 0].mean()))


@pytest.mark.parametrize("interaction", [True, False])
@pytest.mark.parametrize("kind", ["hard, full", "soft, full", "hard, masked", "soft, masked", "soft, masked, faded"])
def test_gradient_equals_finite_differences(interaction: bool, kind: str) -> None:
    """Every parameter of every block."""
    p, inputs = network(interaction)
    y, weight = cells(kind)
    grad, scratch = Parameters(p.shapes, np.float64), Parameters(p.shapes, np.float64)
    grad.flat[:] = np.nan  # every entry has to be written
    loss_and_gradient(p, inputs, y, weight, grad)
    step = 1e-5
    for name, view in p.items().items():
        for index in np.ndindex(view.shape):
            kept, sides = view[index], []
            for moved in (kept + step, kept - step):
                view[index] = moved
                sides.append(loss_and_gradient(p, inputs, y, weight, scratch)[0])
            view[index] = kept
            difference = (sides[0] - sides[1]) / (2 * step)
            assert grad[name][index] == pytest.approx(difference, rel=1e-5, abs=1e-7), (name, index)


def test_masked_cells_change_nothing() -> None:
    """Whatever stands in a cell of weight zero, loss and gradient are the same to the last bit."""
    p, inputs = network(True)
    y, weight = cells("soft, masked")
    other = np.where(weight > 0, y, 0.123)
    one, two = Parameters(p.shapes, np.float64), Parameters(p.shapes, np.float64)
    assert loss_and_gradient(p, inputs, y, weight, one)[0] == loss_and_gradient(p, inputs, other, weight, two)[0]
    assert (one.flat == two.flat).all()


def test_about_34_000_parameters() -> None:
    """9 models, 5 harnesses, 384 dims, the paper's widths."""
    assert Parameters(shapes(9, 5, 384, 32, 16, True), np.float32).flat.size == 34_001
