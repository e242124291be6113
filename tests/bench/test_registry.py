"""The paper's benchmarks and pools, and what of them is at hand."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.benchmarks.rectangles import count_rectangles
from hmrouter.bench.benchmarks.registry import PaperBenchmark, benchmarks, observed_routes, status
from hmrouter.errors import LogError
from hmrouter.names import Names
from hmrouter.types import Route

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
CORPUS = SHARED / "corpus"

PRINTED = [route for benchmark in benchmarks() for route in benchmark.pool]


def by_id(name: str) -> PaperBenchmark:
    return next(benchmark for benchmark in benchmarks() if benchmark.id == name)


def directory(path: Path, *lines: str, header: str = "query_id,model,harness,score") -> Path:
    path.mkdir(parents=True)
    (path / "outcomes.csv").write_text("\n".join((header, *lines)) + "\n")
    (path / "queries.jsonl").write_text('{"query_id": "q1", "text": "Fix it"}\n')
    return path


def test_the_pools_are_the_papers() -> None:
    sizes = [len(benchmark.pool) for benchmark in benchmarks()]
    assert sizes == [15, 18, 39, 17, 25, 20, 24, 45, 13, 25, 25, 27]
    assert sum(sizes) == 293
    assert all(len(set(benchmark.pool)) == len(benchmark.pool) for benchmark in benchmarks())


def test_73_models_as_printed_are_68_canonical_ones() -> None:
    assert len({route.model for route in PRINTED}) == 73
    assert len({route.model for benchmark in benchmarks() for route in benchmark.canonical_pool}) == 68


def test_27_harness_spellings_are_25_harnesses() -> None:
    spellings: dict[str, set[str]] = {}
    for benchmark in benchmarks():
        for printed, route in zip(benchmark.pool, benchmark.canonical_pool, strict=True):
            spellings.setdefault(route.harness, set()).add(printed.harness)
    assert len({route.harness for route in PRINTED}) == 27
    assert len(spellings) == 25
    twice = {harness: written for harness, written in spellings.items() if len(written) > 1}
    assert twice == {
        "hal-generalist-agent": {"HAL Generalist", "HAL Generalist Agent"},
        "hermes": {"hermes", "Hermes"},
    }


def test_canonical_names_merge_no_routes_of_a_pool() -> None:
    for benchmark in benchmarks():
        assert len(set(benchmark.canonical_pool)) == len(benchmark.pool), benchmark.id


def test_every_name_of_the_paper_is_known() -> None:
    names = Names()
    for route in PRINTED:
        names.model(route.model)
        names.harness(route.harness)
    assert not names.unknown_models
    assert not names.unknown_harnesses


def test_the_cost_subset() -> None:
    assert [benchmark.title for benchmark in benchmarks() if benchmark.cost] == [
        "TerminalBench 2.1", "TauBench Airline", "CORE-Bench Hard", "ScienceAgentBench", "GAIA", "SciCode",
    ]  # fmt: skip


def test_the_pools_hold_the_papers_711_rectangles() -> None:
    counts = [count_rectangles(benchmark.pool) for benchmark in benchmarks()]
    assert counts == [2, 15, 100, 10, 55, 28, 3, 322, 5, 63, 0, 108]
    assert sum(counts) == 711


def test_every_benchmark_says_where_its_outcomes_are() -> None:
    ids = [benchmark.id for benchmark in benchmarks()]
    assert len(set(ids)) == len({benchmark.directory for benchmark in benchmarks()}) == 12
    for benchmark in benchmarks():
        assert benchmark.source, benchmark.id
        assert benchmark.how, benchmark.id
        assert "://" not in benchmark.source + benchmark.how, benchmark.id
    assert by_id("gaia").directory == "gaia_hal"


def test_another_name_of_a_model_belongs_to_the_pool() -> None:
    printed = {model for benchmark in benchmarks() for model in benchmark.also}
    assert printed <= {route.model for route in PRINTED}
    for benchmark in benchmarks():
        # Else one route of the data could stand for two of the pool.
        assert not set(benchmark.also.values()) & {route.model for route in benchmark.canonical_pool}, benchmark.id


def test_find_prefers_the_papers_own_name() -> None:
    benchmark = by_id("scicode")
    own = Route("deepseek-r1", "scicode-zero-shot-agent")
    other = Route("deepseek-r1-0528", "scicode-zero-shot-agent")
    assert benchmark.find([other, own]) == {own: own}
    assert benchmark.find([other]) == {own: other}
    assert benchmark.find([Route("deepseek-r1-0528", "codex")]) == {}
    assert list(benchmark.find(benchmark.canonical_pool)) == list(benchmark.canonical_pool)


routes = st.lists(st.builds(Route, model=st.sampled_from("abcd"), harness=st.sampled_from("wxyz")))


@given(routes)
def test_rectangles_by_their_definition(routes: list[Route]) -> None:
    def pairs(names: Iterable[str]) -> list[tuple[str, str]]:
        return list(combinations(sorted(set(names)), 2))

    counted = 0
    for models in pairs(route.model for route in routes):
        for harnesses in pairs(route.harness for route in routes):
            counted += all(Route(model, harness) in routes for model in models for harness in harnesses)
    assert count_rectangles(routes) == counted


def test_status_lists_the_present_the_absent_and_the_unknown(tmp_path: Path) -> None:
    lines = ("q1,GPT-5.4,Codex,1", "q2,gpt-5-4,codex,0", "q1,kimi-k2.5,Hermes,1", "q1,gpt-5,Codex,1")
    mine = directory(tmp_path / "workspacebench_lite", *lines)
    other = directory(tmp_path / "our_repo", "q1,codex:gpt-5,1", header="task,route,score")
    listed = status([tmp_path])
    assert [row.benchmark for row in listed] == [*benchmarks(), None]
    present = {row.directory: row for row in listed if row.path is not None}
    assert set(present) == {"workspacebench_lite", "our_repo"}
    assert present["workspacebench_lite"].path == mine
    # gpt-5-4 on Codex under two spellings; Kimi under its usual name; gpt-5 is not in the pool.
    assert (present["workspacebench_lite"].routes, present["workspacebench_lite"].pool_routes) == (3, 2)
    assert (present["our_repo"].path, present["our_repo"].routes, present["our_repo"].pool_routes) == (other, 1, 0)


def test_status_takes_several_folders(tmp_path: Path) -> None:
    first = directory(tmp_path / "a" / "scicode", "q1,o3,HAL Generalist Agent,1")
    second = directory(tmp_path / "b" / "scicode", "q1,o3,HAL Generalist Agent,1", "q1,gpt-5,Codex,1")
    found = [row for row in status([tmp_path / "a", second, second]) if row.path is not None]
    assert [(row.path, row.routes, row.pool_routes) for row in found] == [(first, 1, 1), (second, 2, 1)]


@pytest.mark.parametrize(
    ("header", "line", "says"),
    [
        ("query_id,model,score", "q1,gpt-5,1", "no column for harness"),
        ("query_id,model,harness,score", "q1,gpt-5,1", "line 2: 3 cells where the header has 4 columns"),
        ("query_id,model,harness,score", "q1,,codex,1", "a route needs a model"),
        ("query_id,route,score", "q1,codex,1", "'codex' is not a route"),
    ],
)
def test_a_broken_directory_does_not_hide_the_others(tmp_path: Path, header: str, line: str, says: str) -> None:
    directory(tmp_path / "broken", line, header=header)
    directory(tmp_path / "fine", "q1,gpt-5,codex,1")
    broken, fine = status([tmp_path])[-2:]
    assert says in broken.problem
    assert (broken.routes, fine.routes, fine.problem) == (0, 1, "")


def test_status_of_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="nowhere"):
        status([tmp_path / "nowhere"])


def test_observed_routes_are_canonical(tmp_path: Path) -> None:
    path = directory(tmp_path / "mine", "q1,anthropic/claude-opus-4.5,Claude Code,1", "q2,claude-opus-4-5,claude-code,")
    assert observed_routes(path) == {Route("claude-opus-4-5", "claude-code")}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no shared data; set HMROUTER_SHARED_DATA to its folder")
def test_the_shared_corpus_against_the_registry() -> None:
    present = {row.directory: row for row in status([CORPUS]) if row.path is not None}
    pools = {name: (row.routes, row.pool_routes) for name, row in present.items() if row.benchmark}
    assert pools == {
        "taubench_airline": (25, 18),
        "corebench_hard": (39, 32),
        "gaia_hal": (33, 24),
        "online_mind2web": (17, 17),
        "swebench_verified": (85, 7),
        "scicode": (25, 25),
        "workspacebench_lite": (27, 27),
    }
    assert {name for name, row in present.items() if not row.benchmark} == {
        "appworld", "openhands_commit0", "openhands_gaia", "openhands_swebench", "terminalbench_2",
        "terminalbench_core",
    }  # fmt: skip
    assert not any(row.problem for row in present.values())
