"""`representations`: vectors follow what harnesses did, and the controls are what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import RunRequest
from hmrouter.bench.experiments.representations.experiment import apart, joined
from hmrouter.bench.experiments.representations.harness_vectors import (
    cosines,
    expected_agreement,
    family_agreement,
    nearest,
    principal_components,
    shuffled_share,
    vectors_of,
)
from hmrouter.bench.experiments.representations.report import mean_cosines
from hmrouter.bench.run.unit_keys import UnitKeys
from hmrouter.errors import InputError
from hmrouter.features.lsa import LSA
from hmrouter.scorers.base import Training
from hmrouter.scorers.hm import HM

Plant = Callable[..., Path]
CLIS, ASSISTANTS = ["claude-code", "codex", "gemini-cli"], ["hermes", "nanobot", "nullclaw"]


def world(plant: Plant, folder: Path, good_at_even: Sequence[str], harnesses: Sequence[str], n: int = 40) -> Benchmark:
    """Some harnesses solve the even tasks, the others the odd ones, whatever the model."""
    routes = [(m, h) for m in ("atlas", "birch") for h in harnesses]
    return Benchmark.at(
        plant(folder, n, routes=routes, score=lambda i, j: float((routes[j][1] in good_at_even) == (i % 2 == 0)))
    )


def run(benchmarks: Sequence[Benchmark], methods: Sequence[str], splits: int = 2) -> list[dict[str, Any]]:
    experiment = EXPERIMENTS.load("representations")()
    request = RunRequest(benchmarks, methods, splits)
    return [row for unit in experiment.units(request) for row in experiment.run(unit, benchmarks[0], request)]


# -- planted worlds -------------------------------------------------------------------------------------------------


def test_families_that_behave_alike_are_neighbours(plant: Plant, tmp_path: Path) -> None:
    rows = run([world(plant, tmp_path / "b", CLIS, CLIS + ASSISTANTS)], ("hm", "hm_untrained", "description"))
    assert {r["benchmark"] for r in rows} == {"all"}
    assert len(rows) == 6
    similarity, about = mean_cosines(rows, "hm")
    assert family_agreement(similarity, about["families"]) == 6
    table, neighbours = EXPERIMENTS.load("representations")().tables(rows)
    line = dict(zip(table.columns, table.rows[0], strict=True))
    assert (line["vectors"], line["nearest in family"]) == ("hm", 6)
    assert line["expected by chance"] == pytest.approx(6 * 2 / 5)
    assert all(line[1] == line[3] for line in neighbours.rows)
    assert EXPERIMENTS.load("representations")().headline(rows).startswith("6 of 6 harnesses have")


def test_vectors_follow_behaviour_and_not_the_label(plant: Plant, tmp_path: Path) -> None:
    # One of each family does what the other family does.
    crossed = ["claude-code", "hermes"]
    rows = run([world(plant, tmp_path / "b", crossed, ["claude-code", "codex", "hermes", "nanobot"])], ("hm",))
    similarity, about = mean_cosines(rows, "hm")
    assert [about["harnesses"][j] for j in nearest(similarity)] == ["hermes", "nanobot", "claude-code", "codex"]
    assert family_agreement(similarity, about["families"]) == 0


def test_all_benchmarks_share_one_fit(plant: Plant, tmp_path: Path) -> None:
    one = world(plant, tmp_path / "one", CLIS, CLIS, 20)
    other = world(plant, tmp_path / "two", [], ASSISTANTS, 30)
    (row,) = run([one, other], ("description",), 1)
    assert row["harnesses"] == sorted(CLIS + ASSISTANTS)
    assert row["families"] == ["terminal-cli"] * 3 + ["personal-assistant"] * 3
    assert row["n_train"] == 14 + 21
    split = joined((one, other), 0, 0)
    assert split.train.suites == ("one", "two")
    assert len(split.test.tasks) == 0


def test_a_change_of_any_benchmark_is_another_unit(plant: Plant, tmp_path: Path) -> None:
    one, other = (world(plant, tmp_path / name, CLIS, CLIS, 12) for name in ("one", "two"))
    request = RunRequest([one, other], ("hm",), 1)
    (unit,) = EXPERIMENTS.load("representations")().units(request)
    changed = world(plant, tmp_path / "new" / "two", CLIS, CLIS, 13)
    keys = [UnitKeys({"representations": RunRequest([one, b], ("hm",), 1)}).of(unit) for b in (other, other, changed)]
    assert keys[0] == keys[1] != keys[2]


def test_harnesses_of_no_design_family(plant: Plant, tmp_path: Path) -> None:
    benchmark = world(plant, tmp_path / "b", [], ["claude-code", "core-agent", "nobody-knows", "codex"], 10)
    with pytest.raises(InputError, match="fewer than three harnesses are of a known design family"):
        run([benchmark], ("description",), 1)


def test_the_figure_shows_all_harnesses(plant: Plant, tmp_path: Path) -> None:
    rows = run([world(plant, tmp_path / "b", CLIS, CLIS + ASSISTANTS, 12)], ("hm_untrained", "description"), 1)
    experiment = EXPERIMENTS.load("representations")()
    assert experiment.figures(rows) == []  # of what is learned, and nothing was
    assert experiment.headline(rows) == ""
    assert len(experiment.tables(rows)) == 1
    (figure,) = experiment.figures([r | {"method": "hm"} for r in rows if r["method"] == "description"])
    assert [s.name for s in figure.series] == ["personal-assistant", "terminal-cli"]
    assert [list(s.labels) for s in figure.series] == [ASSISTANTS, CLIS]


# -- who met whom ---------------------------------------------------------------------------------------------------


def test_strangers_met_on_no_benchmark(plant: Plant, tmp_path: Path) -> None:
    one = world(plant, tmp_path / "one", [], ["claude-code", "codex"], 6)
    two = world(plant, tmp_path / "two", [], ["codex", "hermes"], 6)  # the same tasks as in `one`
    routes = [("atlas", "nanobot"), ("atlas", "hermes")]
    far = Benchmark.at(plant(tmp_path / "far", 6, routes=routes, text=lambda i: f"Something else {i}"))
    names = ["claude-code", "codex", "hermes", "nanobot"]
    assert apart(names, [one, two, far]) == [[0, 3], [1, 3]]
    assert apart(names[:3], [one, two]) == []  # common tasks count as a meeting


# -- vectors --------------------------------------------------------------------------------------------------------


def test_vectors_are_those_of_the_fitted_scorer(plant: Plant, tmp_path: Path) -> None:
    data = world(plant, tmp_path / "b", CLIS, CLIS, 12).data()
    texts = [t.text for t in data.tasks]
    embedder = LSA().fit(texts)
    vectors = dict(zip(data.harnesses, embedder.embed(list(data.harnesses)), strict=True))
    scorer = HM(epochs=2).fit(Training(data, embedder.embed(texts), vectors))
    found = vectors_of(scorer)
    assert list(found) == list(data.harnesses)
    p = scorer.parameters_
    for i, h in enumerate(data.harnesses):  # Eq. component_encoders, by hand
        side = p["P_h"] @ scorer.summaries_.harness(h) + p["P_h.b"]
        text = p["T_h"] @ vectors[h] + p["T_h.b"]
        expected = p["W_h"] @ np.concatenate([p["e_h"][i], side, text]) + p["W_h.b"]
        assert found[h] == pytest.approx(expected, abs=1e-4)


def test_cosines_are_of_centred_rows() -> None:
    found = cosines(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 7.0], [2.0, 3.0]]))
    expected = [[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, -1, 1]]
    assert np.allclose(found, expected)
    assert np.allclose(cosines(np.ones((3, 2))), 0.0)  # all alike: nobody is like anybody


def test_two_axes_hold_what_lies_in_a_plane() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(8, 2)) @ rng.normal(size=(2, 6))
    at, shares = principal_components(flat @ flat.T)
    between = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    assert np.allclose(np.linalg.norm(at[:, None] - at[None], axis=2), between)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] >= shares[1]


@given(st.lists(st.sampled_from("abc"), min_size=3, max_size=9), st.integers(0, 50))
def test_chance_is_the_mean_of_shuffles(families: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity = cosines(rng.normal(size=(len(families), 4)))
    drawn = [family_agreement(similarity, list(rng.permutation(families))) for _ in range(400)]
    assert np.mean(drawn) == pytest.approx(expected_agreement(families), abs=0.2 * len(families) ** 0.5)


def test_a_share_of_shuffles_is_a_p_value() -> None:
    families = ["a"] * 3 + ["b"] * 3
    clear = cosines(np.array([[0.0, i] for i in range(3)] + [[9.0, i] for i in range(3)]))
    assert family_agreement(clear, families) == 6
    # All agree only if each family keeps its side: 2 of the 20 ways to deal out the labels.
    assert shuffled_share(clear, families) == pytest.approx(2 / 20, abs=0.01)
    assert shuffled_share(clear, ["a", "b"] * 3) > 0.3
