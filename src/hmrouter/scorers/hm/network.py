"""The network of the paper's scorer: encoders, score, loss and its gradient. Equation names are the paper's labels.

Shapes: B tasks of a batch, M models, H harnesses, K routes, D dims of a task vector, d = 32 shared factors,
s = 16 identity and side width. Every linear map is affine, weights (out, in) as in Eq. component_encoders.
The gradients are derived by hand; tests hold them against finite differences and against PyTorch's autograd.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrouter.scorers.base import sigmoid
from hmrouter.scorers.hm.adam import Parameters
from hmrouter.scorers.hm.folded import LN_EPS, backward, forward
from hmrouter.state import Floats


class Inputs(NamedTuple):
    """The inputs of the network for one batch."""

    x: Floats
    """Task vectors, noise included, (B, D)."""
    z_m: Floats
    """Behavioural summaries of the models, (M, D + 2)."""
    z_h: Floats
    """Behavioural summaries of the harnesses, (H, D + 2)."""
    t_h: Floats
    """Harness description vectors, (H, D)."""
    of_model: Floats
    """The model of each route, one-hot, (K, M)."""
    of_harness: Floats
    """The harness of each route, one-hot, (K, H)."""


def shapes(n_models: int, n_harnesses: int, dims: int, d: int, s: int, interaction: bool) -> dict[str, tuple[int, ...]]:
    """List the names and shapes of all parameters."""
    out: dict[str, tuple[int, ...]] = {
        "W_q": (d, dims), "W_q.b": (d,),
        "e_m": (n_models, s), "P_m": (s, dims + 2), "P_m.b": (s,), "W_m": (d, 2 * s), "W_m.b": (d,),
        "e_h": (n_harnesses, s), "P_h": (s, dims + 2), "P_h.b": (s,), "T_h": (s, dims), "T_h.b": (s,),
        "W_h": (d, 3 * s), "W_h.b": (d,),
        "b": (1,),
    }  # fmt: skip
    for term in ("M", "H", "MH") if interaction else ("M", "H"):
        out |= {f"w_{term}": (d,), f"LN_{term}.gain": (d,), f"LN_{term}.bias": (d,)}
    return out


def encode(p: Parameters, inputs: Inputs) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Apply Eq. component_encoders: q~ (B, d), u_m (M, d), u_h (H, d), and the inputs of W_m and of W_h."""
    q = inputs.x @ p["W_q"].T + p["W_q.b"]
    in_m = np.concatenate([p["e_m"], inputs.z_m @ p["P_m"].T + p["P_m.b"]], axis=1)
    side_h, text_h = inputs.z_h @ p["P_h"].T + p["P_h.b"], inputs.t_h @ p["T_h"].T + p["T_h.b"]
    in_h = np.concatenate([p["e_h"], side_h, text_h], axis=1)
    return q, in_m @ p["W_m"].T + p["W_m.b"], in_h @ p["W_h"].T + p["W_h.b"], in_m, in_h


def loss_and_gradient(
    p: Parameters, inputs: Inputs, y: Floats, weight: Floats, grad: Parameters, eps: float = LN_EPS
) -> tuple[float, Floats]:
    """Compute Eq. training_loss and the scores, with weights (B, K) that are zero where nothing was observed.

    `grad` receives the gradient. Soft targets y in [0, 1] are welcome.
    """
    q, u_m, u_h, in_m, in_h = encode(p, inputs)
    k_m, k_h = inputs.of_model @ u_m, inputs.of_harness @ u_h  # (K, d): the components of each route
    interaction = "w_MH" in p.shapes

    # Eq. scorer, term by term: w . LN(a * q~)
    m, kept_m = forward(q, u_m, p["w_M"] * p["LN_M.gain"], eps)
    h, kept_h = forward(q, u_h, p["w_H"] * p["LN_H.gain"], eps)
    s = m @ inputs.of_model.T + h @ inputs.of_harness.T + offset(p)
    if interaction:
        mh, kept_mh = forward(q, k_m * k_h, p["w_MH"] * p["LN_MH.gain"], eps)
        s += mh

    # Binary cross-entropy of sigma(s), and its gradient in s
    loss = float((weight * (np.logaddexp(0.0, s) - y * s)).sum())
    g = weight * (sigmoid(s) - y)

    total = g.sum()
    gq, gu_m, gv = backward(g @ inputs.of_model, kept_m)
    _term_gradient(p, grad, "M", gv, total)
    dq, gu_h, gv = backward(g @ inputs.of_harness, kept_h)
    gq += dq
    _term_gradient(p, grad, "H", gv, total)
    if interaction:
        dq, ga, gv = backward(g, kept_mh)
        gq += dq
        gu_m += inputs.of_model.T @ (ga * k_h)
        gu_h += inputs.of_harness.T @ (ga * k_m)
        _term_gradient(p, grad, "MH", gv, total)
    grad["b"][0] = total

    # Back through the encoders
    width = p["e_m"].shape[1]
    _affine_gradient(grad, "W_q", gq, inputs.x)
    _affine_gradient(grad, "W_m", gu_m, in_m)
    g_in = gu_m @ p["W_m"]
    grad["e_m"][:] = g_in[:, :width]
    _affine_gradient(grad, "P_m", g_in[:, width:], inputs.z_m)
    _affine_gradient(grad, "W_h", gu_h, in_h)
    g_in = gu_h @ p["W_h"]
    grad["e_h"][:] = g_in[:, :width]
    _affine_gradient(grad, "P_h", g_in[:, width : 2 * width], inputs.z_h)
    _affine_gradient(grad, "T_h", g_in[:, 2 * width :], inputs.t_h)
    return loss, s


def offset(p: Parameters) -> float:
    """Sum b and the layer norms' biases: the part of Eq. scorer that is the same for all routes and tasks."""
    terms = ("M", "H", "MH") if "w_MH" in p.shapes else ("M", "H")
    return float(p["b"][0] + sum(p[f"w_{t}"] @ p[f"LN_{t}.bias"] for t in terms))


def _affine_gradient(grad: Parameters, name: str, g: Floats, given: Floats) -> None:
    np.matmul(g.T, given, out=grad[name])
    g.sum(axis=0, out=grad[f"{name}.b"])


def _term_gradient(p: Parameters, grad: Parameters, term: str, gv: Floats, total: Floats) -> None:
    w, gain, bias = p[f"w_{term}"], p[f"LN_{term}.gain"], p[f"LN_{term}.bias"]
    grad[f"w_{term}"][:] = gv * gain + total * bias
    grad[f"LN_{term}.gain"][:] = gv * w
    grad[f"LN_{term}.bias"][:] = total * w
