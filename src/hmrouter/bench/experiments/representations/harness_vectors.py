"""Harness vectors, and whether those of one design family are close to each other (Fig. learned_representations a)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hmrouter.scorers.hm import HM
from hmrouter.scorers.hm.network import Inputs, encode
from hmrouter.state import Floats

PERMUTATIONS = 10_000


def vectors_of(scorer: HM) -> dict[str, Floats]:
    """u_h of Eq. component_encoders for every harness of the fit."""
    summaries, p = scorer.summaries_, scorer.parameters_
    dims = summaries.dims - 2
    texts = [scorer.harness_vectors_.get(h, np.zeros(dims)) for h in scorer.harnesses_]
    nothing = np.zeros((0, scorer.d))
    inputs = Inputs(
        np.zeros((0, dims)), np.array([summaries.model(m) for m in scorer.models_]),
        np.array([summaries.harness(h) for h in scorer.harnesses_]), np.array(texts), nothing, nothing,
    )  # fmt: skip
    return dict(zip(scorer.harnesses_, encode(p, inputs)[2].astype(np.float64), strict=True))


def cosines(vectors: Floats) -> Floats:
    """Cosines of the rows after their mean is taken off; a row at the mean itself is like no other.

    >>> cosines(np.array([[1.0, 0.0], [3.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    centred = vectors - vectors.mean(axis=0)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = centred / np.where(norms > 1e-12, norms, 1.0)
    return np.asarray(unit @ unit.T)


def principal_components(similarity: Floats) -> tuple[Floats, Floats]:
    """Coordinates (points, 2) from a matrix of inner products, and the shares of variance of the two axes."""
    n = len(similarity)
    centre = np.eye(n) - 1.0 / n
    values, axes = np.linalg.eigh(centre @ similarity @ centre)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    # An axis may point either way; it points to where its largest entry is.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n)])
    return np.asarray(axes[:, :2] * np.sqrt(values[:2])), np.asarray(values[:2] / max(float(values.sum()), 1e-12))


def nearest(similarity: Floats) -> list[int]:
    """For each point the most similar other one."""
    others = similarity - np.diag(np.full(len(similarity), np.inf))
    return [int(j) for j in others.argmax(axis=1)]


def family_agreement(similarity: Floats, families: Sequence[str]) -> int:
    """Count the points whose nearest neighbour is of their own family."""
    return sum(families[i] == families[j] for i, j in enumerate(nearest(similarity)))


def expected_agreement(families: Sequence[str]) -> float:
    """Expect this much `family_agreement` when the labels are shuffled.

    >>> round(expected_agreement(["cli"] * 5 + ["assistant"] * 7 + ["swe"] * 3 + ["web"] * 3), 1)
    4.4
    """
    sizes = [families.count(family) for family in set(families)]
    return sum(n * (n - 1) for n in sizes) / (len(families) - 1)


def shuffled_share(similarity: Floats, families: Sequence[str], seed: int = 0) -> float:
    """Share of random shuffles of the labels with at least the observed agreement: a p-value."""
    rng = np.random.default_rng(seed)
    labels = np.unique(list(families), return_inverse=True)[1]
    neighbour = np.array(nearest(similarity))
    observed = family_agreement(similarity, families)
    draws = rng.permuted(np.tile(labels, (PERMUTATIONS, 1)), axis=1)
    found = (draws == draws[:, neighbour]).sum(axis=1)
    return float((1 + (found >= observed).sum()) / (1 + PERMUTATIONS))
