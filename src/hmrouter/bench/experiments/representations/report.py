"""Tables and figures of `representations`, from its rows alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hmrouter.bench.experiments.base import Row
from hmrouter.bench.experiments.representations.harness_vectors import (
    expected_agreement,
    family_agreement,
    nearest,
    principal_components,
    shuffled_share,
)
from hmrouter.bench.experiments.summaries import distinct
from hmrouter.bench.report.parts import Cell, Figure, ReportTable, Series
from hmrouter.state import Floats

MAIN = "hm"


def tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Per method the agreement with the families; for HM everybody's nearest neighbour."""
    body: list[list[Cell]] = []
    for method in distinct(rows, "method"):
        similarity, about = mean_cosines(rows, method)
        families = about["families"]
        within, between = _apart_cosines(similarity, about)
        body.append([
            method, len(families), family_agreement(similarity, families), expected_agreement(families),
            shuffled_share(similarity, families), *_nearest_stranger(similarity, about), _mean(within), _mean(between),
            len(within), len(between),
        ])  # fmt: skip
    columns = [
        "vectors", "harnesses", "nearest in family", "expected by chance", "p", "nearest stranger in family",
        "expected by chance of strangers", "cosine of strangers within", "cosine of strangers between", "pairs within",
        "pairs between",
    ]  # fmt: skip
    splits = len(distinct(rows, "split"))
    note = (
        "Vectors are centred and of unit length per split, pooled through their mean cosines over "
        f"{splits} {'splits' if splits > 1 else 'split'}. Nearest in family: harnesses whose nearest neighbour is of "
        "their family; by chance: with labels shuffled; p: share of shuffles that do as well. Strangers are harnesses "
        "that never met on a benchmark, nor on two with common tasks: what they have in common is not their data. "
        "Controls: hm_untrained is hm before its first step, description the vectors of the harness descriptions "
        "alone, which are an input of hm."
    )
    out = [ReportTable("Harness vectors and design families", columns, body, note, digits=3)]
    if MAIN in distinct(rows, "method"):
        similarity, about = mean_cosines(rows, MAIN)
        names, families = about["harnesses"], about["families"]
        lines: list[list[Cell]] = [
            [names[i], families[i], names[j], families[j], float(similarity[i, j])]
            for i, j in enumerate(nearest(similarity))
        ]
        columns = ["harness", "family", "nearest", "its family", "cosine"]
        out.append(ReportTable("Nearest neighbours of the learned vectors", columns, lines, digits=2))
    return out


def headline(rows: Sequence[Row]) -> str:
    """How many harnesses have their nearest neighbour in their family; empty if HM did not run."""
    if MAIN not in distinct(rows, "method"):
        return ""
    similarity, about = mean_cosines(rows, MAIN)
    families = about["families"]
    said = (
        f"{family_agreement(similarity, families)} of {len(families)} harnesses have their nearest neighbour in their "
        f"own design family, {expected_agreement(families):.1f} expected by chance"
    )
    if "description" in distinct(rows, "method"):
        said += f"; by their descriptions alone, {family_agreement(mean_cosines(rows, 'description')[0], families)}"
    return f"{said}."


def figures(rows: Sequence[Row]) -> list[Figure]:
    """The learned vectors on their two main axes, one series per family."""
    if MAIN not in distinct(rows, "method"):
        return []
    similarity, about = mean_cosines(rows, MAIN)
    at, shares = principal_components(similarity)
    series = []
    for family in sorted(set(about["families"])):
        own = [i for i, f in enumerate(about["families"]) if f == family]
        names = [about["harnesses"][i] for i in own]
        series.append(Series(family, at[own, 0].tolist(), at[own, 1].tolist(), labels=names))
    x, y = (f"component {k + 1}, {100 * shares[k]:.0f}% of the variance" for k in range(2))
    note = (
        "Principal components of the mean cosine matrix over splits. Families are annotations that the scorer does "
        "not see. Names that would cover others are left out."
    )
    return [Figure("representations", "Learned harness vectors", "points", x, y, series, note)]


def mean_cosines(rows: Sequence[Row], method: str) -> tuple[Floats, Row]:
    """The cosines of a method's vectors, mean over splits, and whose they are."""
    own = [r for r in rows if r["method"] == method]
    # A harness may lack in the training side of a split: those that are in all of them take part.
    names = [h for h in own[0]["harnesses"] if all(h in r["harnesses"] for r in own)]
    parts = []
    for r in own:
        at = [r["harnesses"].index(h) for h in names]
        parts.append(np.array(r["cosines"])[np.ix_(at, at)])
    kept = [own[0]["harnesses"].index(h) for h in names]
    about = {
        "harnesses": names,
        "families": [own[0]["families"][i] for i in kept],
        "apart": [[kept.index(i), kept.index(j)] for i, j in own[0]["apart"] if i in kept and j in kept],
    }
    return np.asarray(np.mean(parts, axis=0)), about


def _apart_cosines(similarity: Floats, about: Row) -> tuple[list[float], list[float]]:
    """Cosines of pairs that never met: of one family, and of two."""
    within: list[float] = []
    between: list[float] = []
    for i, j in about["apart"]:
        same = about["families"][i] == about["families"][j]
        (within if same else between).append(float(similarity[i, j]))
    return within, between


def _nearest_stranger(similarity: Floats, about: Row) -> tuple[int, float]:
    """How many harnesses find their nearest stranger in their family, and how many would by chance."""
    strangers: dict[int, list[int]] = {}
    for i, j in about["apart"]:
        strangers.setdefault(i, []).append(j)
        strangers.setdefault(j, []).append(i)
    found, expected, families = 0, 0.0, about["families"]
    for i, own in strangers.items():
        found += families[max(own, key=lambda j: similarity[i, j])] == families[i]
        expected += sum(families[j] == families[i] for j in own) / len(own)
    return found, expected


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
