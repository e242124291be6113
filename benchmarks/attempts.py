"""What an attempt costs beside its harness, checkouts, diff and verification, in a repository of 50,000 files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.ratio import Ratio
from benchmarks.timing import Work
from hmrouter.run.trees.checkout import Checkouts
from hmrouter.run.trees.protected import ProtectedPaths
from hmrouter.run.trees.repository import Repository, changes_of
from hmrouter.run.trees.verify import Verifier

FILES = 50_000
ROUNDS = 1


def beside_a_worktree() -> Iterator[Ratio]:
    """One attempt whose harness and verification do next to nothing, against a bare `git worktree add`."""
    with TemporaryDirectory() as folder:
        repository = large_repository(Path(folder, "repo"))
        base = repository.commit()
        checkouts = Checkouts(repository)
        verifier = Verifier(checkouts, "true", ProtectedPaths.of("true", repository.files(base)))
        tree = Path(folder, "tree")

        def attempt() -> None:
            with checkouts.ready(tree, base, Path(folder, "setup")) as start:
                (tree / "d0" / "f0.py").write_text("changed = True\n")
                diff = changes_of(tree, start, Path(folder, "index"))
            if not verifier.verify(base, diff, tree, Path(folder, "out")).passed:
                raise RuntimeError("the verification of the benchmark fails")

        def bare() -> None:
            git = ["git", "-C", str(repository.root), "worktree"]
            subprocess.run([*git, "add", "--quiet", "--detach", str(tree), base], check=True)
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)

        ratios = [_seconds(attempt) / _seconds(bare) for _ in range(ROUNDS)]
    what = f"an attempt's two checkouts, diff and verification / git worktree add and remove, {FILES:,} files"
    yield Ratio("attempt_vs_worktree", median(ratios), what, at_most=4)


def large_repository(folder: Path) -> Repository:
    """Make a repository of many small files in one commit."""
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(folder)], check=True)
    lines = ["commit refs/heads/main", "committer B <b@example.org> 0 +0000", "data 0"]
    for i in range(FILES):
        content = f"def f{i}():\n    return {i}\n"
        lines += [f"M 100644 inline d{i % 500}/f{i}.py", f"data {len(content)}", content]
    stream = ("\n".join(lines) + "\n").encode()
    subprocess.run(["git", "-C", str(folder), "fast-import", "--quiet"], input=stream, check=True)
    subprocess.run(["git", "-C", str(folder), "reset", "--quiet", "--hard"], check=True)
    return Repository.at(folder)


def _seconds(work: Work) -> float:
    """Processor time of a call, with that of the processes that it starts."""
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])
