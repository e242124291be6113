"""`hmrouter bench`: the benchmark suite."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmrouter.cli.bench_progress import BenchProgress
from hmrouter.cli.output import Json, console, echo, print_json, say, table
from hmrouter.errors import HMRouterError, InputError

if TYPE_CHECKING:
    from hmrouter.bench.benchmarks.registry import PaperBenchmark

app = typer.Typer(no_args_is_help=True, help="hm-router-bench: the paper's experiments on the benchmarks you have.")

Data = Annotated[
    list[Path], typer.Option("--data", help="A benchmark directory, or a folder of them; may be repeated.")
]


@app.command("list")
def list_benchmarks(
    data: Annotated[list[Path] | None, typer.Option("--data", help="Where to look; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """The paper's benchmarks and which of them are present under --data; the experiments and the methods."""
    from hmrouter.bench.benchmarks.registry import status
    from hmrouter.bench.experiments import EXPERIMENTS
    from hmrouter.bench.methods import METHODS, REFERENCES

    places = status(data or [])
    methods = [*METHODS.names(), *(r for r in REFERENCES if r not in METHODS.names())]
    if as_json:
        print_json({
            "experiments": EXPERIMENTS.names(), "methods": methods,
            "benchmarks": [{
                "directory": p.directory, "title": p.benchmark.title if p.benchmark else None,
                "path": str(p.path) if p.path else None, "routes": p.routes, "problem": p.problem,
                "paper_routes": len(p.benchmark.pool) if p.benchmark else None, "paper_routes_present": p.pool_routes,
                "source": p.benchmark.source if p.benchmark else None, "how": p.benchmark.how if p.benchmark else None,
            } for p in places],
        })  # fmt: skip
        return
    out = table("Benchmarks", "directory", "in the paper as", "here", "routes", "of the paper's")
    for p in places:
        here = "broken" if p.problem else "yes" if p.routes else "empty" if p.path else "-"
        of = f"{p.pool_routes}/{len(p.benchmark.pool)}" if p.benchmark and p.path else "-"
        title = p.benchmark.title if p.benchmark else "not in the paper"
        out.add_row(p.directory, title, here, str(p.routes) if p.path else "-", of)
    console().print(out)
    for p in places:
        if p.problem:
            echo(f"{p.directory} is broken: {p.problem}")
    _where_to_get([p.benchmark for p in places if p.benchmark and not p.path])
    echo(f"Experiments: {', '.join(EXPERIMENTS.names())}")
    echo(f"Methods: {', '.join(methods)}")


def _where_to_get(missing: list[PaperBenchmark]) -> None:
    ways: dict[str, list[str]] = {}
    if missing:
        echo("Not here, and where their outcomes are:")
    for b in missing:
        echo(f"  {b.directory}: {b.source}")
        ways.setdefault(b.how, []).append(b.directory)
    for how, names in ways.items():
        echo(f"To make {', '.join(names)}: {how}")


@app.command("validate")
def validate_benchmarks(data: Data, as_json: Json = False) -> None:
    """Check benchmark directories: duplicates, scores, unknown tasks, density, rectangles, costs, texts."""
    from hmrouter.bench.benchmarks.validate import validate
    from hmrouter.logs import benchmark_directories

    reports = [validate(d) for path in data for d in benchmark_directories(path)]
    if not reports:
        raise InputError(f"no benchmark in {', '.join(map(str, data))}; see: hmrouter bench list")
    if as_json:
        print_json([r.to_dict() for r in reports])
    else:
        for report in reports:
            for line in report.lines():
                echo(line)
    if not all(r.ok for r in reports):
        raise typer.Exit(1)


@app.command("run")
def run(
    experiment: Annotated[
        list[str], typer.Argument(help="Experiments, also comma-separated, or all; see `bench list`.")
    ],
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="Where results, report and the cache go.")] = Path("out"),
    methods: Annotated[str, typer.Option("--methods", help="Comma-separated; default: those of the experiment.")] = "",
    splits: Annotated[int, typer.Option("--splits", min=1, help="Number of 70/30 task splits.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the splits.")] = 0,
    embedder: Annotated[str, typer.Option("--embedder", help="Task vectors, the same for all methods.")] = "lsa",
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Worker processes; default: all cores.")] = None,
    engine: Annotated[str, typer.Option("--engine", help="local, or ray for a cluster.")] = "local",
    ray_address: Annotated[
        str | None, typer.Option("--ray-address", help="ray://HOST:PORT or auto; default: a local Ray.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: fewer splits, less of what takes long; the report says what.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run experiments and write results.json, table.md, figures, report.html and an index of it.

    UnitResult units are kept under OUT/.cache: a run that was interrupted goes on where it was, and a method whose
    code changed runs again alone.
    """
    from hmrouter.bench.experiments import every_experiment
    from hmrouter.bench.report.index import write_index
    from hmrouter.bench.report.markdown import table_markdown
    from hmrouter.bench.report.write import write_report
    from hmrouter.bench.run.suite import plan_suite, run_suite
    from hmrouter.bench.run.suite_page import page_of

    given = _listed(",".join(experiment))
    names = every_experiment() if "all" in given else given
    wanted = _listed(methods)
    suite = plan_suite(names, data, methods=wanted, splits=splits, seed=seed, embedder=embedder, quick=quick)
    early = len(suite.left_out)
    for reason in suite.left_out:
        say(f"left out: {reason}")
    with BenchProgress() as watch:
        run_suite(suite, out, engine=engine, jobs=jobs, address=ray_address, watch=watch)
    if not suite.results.rows:
        raise HMRouterError(f"nothing ran: {'; '.join(suite.left_out) or _nothing(data)}")
    page = page_of(suite, shlex.join(["hmrouter", *sys.argv[1:]]))
    write_report(out, page)
    write_index(out, page)
    for reason in suite.left_out[early:]:
        say(f"left out: {reason}")
    if as_json:
        print_json({
            "out": str(out), "results": str(out / "results.json"), "report": str(out / "report.html"),
            "index": str(out / "index.html"), "rows": len(suite.results.rows),
            "computed": suite.results.computed, "cached": suite.results.cached,
            "left_out": suite.left_out,
        })  # fmt: skip
        return
    for section in page.sections:  # the first table is the experiment's main one
        for line in (*table_markdown(section.tables[0]).split("\n"), ""):
            echo(line)
    say(f"{suite.results.computed:,} units computed, {suite.results.cached:,} from the cache")
    say(f"Everything: {', '.join(str(out / f) for f in ('index.html', 'report.html', 'table.md', 'results.json'))}")


def _nothing(data: list[Path]) -> str:
    return f"no benchmark in {', '.join(map(str, data))}, or no method that the experiment can use"


def _listed(names: str) -> list[str]:
    """Comma-separated names, each once."""
    return list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
