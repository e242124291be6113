"""One clear line, nothing started and nothing half-applied where a run cannot be had."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hmrouter.run.permission import SENTENCE

if TYPE_CHECKING:
    from tests.run.loop.conftest import Say, World


@pytest.fixture
def ready(world: World) -> World:
    """A world in which everything is fine: a test takes something away."""
    world.harness("strong", world.solve)
    world.evidence(strong=0.9)
    return world


def unchanged(world: World) -> bool:
    return (
        world.starts() == [] and world.outcomes() == [] and world.trees == [] and world.git("status", "--short") == ""
    )


def test_an_unknown_harness(ready: World, error_of: Say) -> None:
    ready.routes = ["stong:m"]
    assert error_of(ready.run("Fix add", "--verify", ready.verify)).startswith(
        "harness 'stong' is not in what can be run"
    )
    assert unchanged(ready)


def test_a_missing_key(ready: World, error_of: Say) -> None:
    ready.harnesses, ready.routes = [], []
    ready.harness("strong", ready.solve, keys=["STRONG_API_KEY"])
    said = error_of(ready.run("Fix add", "--verify", ready.verify))
    assert "set STRONG_API_KEY" in said
    assert unchanged(ready)
    assert ready.run("Fix add", "--verify", ready.verify, STRONG_API_KEY="k" * 20).returncode == 0


def test_a_harness_that_is_not_installed(ready: World, error_of: Say) -> None:
    (ready.folder / "bin/strong").unlink()
    assert "not installed, or does not start" in error_of(ready.run("Fix add", "--verify", ready.verify))
    assert unchanged(ready)


def test_a_verify_command_that_is_not_there(ready: World, error_of: Say) -> None:
    assert "'no-such-program' cannot be run" in error_of(ready.run("Fix add", "--verify", "no-such-program"))
    assert unchanged(ready)
    assert "--verify" in error_of(ready.run("Fix add"))
    assert unchanged(ready)


def test_a_set_up_command_that_fails(ready: World, error_of: Say) -> None:
    assert "'exit 3' failed: exit code 3" in error_of(
        ready.run("Fix add", "--verify", ready.verify, "--setup", "exit 3")
    )
    assert unchanged(ready)


def test_a_dirty_tree(ready: World, error_of: Say) -> None:
    (ready.repo / "README").write_text("changed")
    said = error_of(ready.run("Fix add", "--verify", ready.verify))
    assert said == (
        "the tree has changes that are not committed (README); "
        "commit them, or have the result as a branch with --branch NAME"
    )
    ready.git("checkout", "--", "README")
    (ready.repo / "mine").write_text("untracked")
    assert "(mine)" in error_of(ready.run("Fix add", "--verify", ready.verify, "--in-place"))
    (ready.repo / "mine").unlink()
    assert unchanged(ready)


def test_no_git(bare: World, error_of: Say) -> None:
    bare.repo.mkdir()
    bare.harness("strong", bare.solve)
    bare.evidence(strong=0.9)
    assert "is not in a git repository" in error_of(bare.run("Fix add", "--verify", bare.verify))
    assert bare.starts() == []
    bare.git("init", "--quiet")
    assert "has no commit" in error_of(bare.run("Fix add", "--verify", bare.verify))
    path = bare.folder / "empty"
    path.mkdir()
    assert "git is not installed" in error_of(bare.run("Fix add", "--verify", bare.verify, PATH=str(path)))


def test_no_right_to_write(ready: World, error_of: Say) -> None:
    (ready.folder / "work").write_text("a file where the folder should be")
    assert "--work" in error_of(ready.run("Fix add", "--verify", ready.verify))
    (ready.folder / "work").unlink()
    assert unchanged(ready)


def test_submodules_that_nobody_fills(ready: World, error_of: Say) -> None:
    other = ready.folder / "other"
    shutil.copytree(ready.repo, other)
    ready.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "lib")
    ready.git("commit", "--quiet", "--message", "A submodule")
    assert "submodules (lib)" in error_of(ready.run("Fix add", "--verify", ready.verify))
    assert unchanged(ready)
    fill = "git -c protocol.file.allow=always submodule --quiet update --init"
    done = ready.run("Fix add", "--verify", f"test -f lib/calc.py && {ready.verify}", "--setup", fill)
    assert done.returncode == 0, done.stderr
    assert ready.git("status", "--short") == "M calc.py"


def test_a_repository_in_the_repository_is_not_delivered(world: World) -> None:
    world.harness("clones", world.solve + f"subprocess.run(['git', 'clone', '-q', {str(world.repo)!r}, 'copy'])\n")
    world.evidence(clones=0.9)
    done = world.run("Fix add", "--verify", world.verify)
    assert done.returncode == 1
    assert "a repository of its own" in done.stderr
    assert world.git("status", "--short") == ""


def test_nothing_runs_with_approvals_bypassed_unless_the_user_said_so_for_this_workspace(
    world: World, error_of: Say
) -> None:
    world.harness("bold", "assert '--yolo' in sys.argv\n" + world.solve, only_bypassed=True, bypassed=["--yolo"])
    world.evidence(bold=0.9)
    assert SENTENCE in error_of(world.run("Fix add", "--verify", world.verify))
    assert "--unattended 'yes'" in error_of(world.run("Fix add", "--verify", world.verify, "--unattended", "yes"))
    assert world.starts() == []
    assert world.run("--unattended", SENTENCE).returncode == 0
    assert world.run("Fix add", "--verify", world.verify).returncode == 0
    copy = world.folder / "copy"
    world.git("clone", "--quiet", str(world.repo), str(copy))  # nobody can say it for another workspace
    world.git("checkout", "--", ".")
    world.run("--unattended", "no")
    assert SENTENCE in error_of(world.run("Fix add", "--verify", world.verify))


def test_a_harness_that_asks_gets_no_flag_that_bypasses(world: World) -> None:
    world.harness("asks", "assert '--yolo' not in sys.argv\n" + world.solve, bypassed=["--yolo"])
    world.evidence(asks=0.9)
    assert world.run("Fix add", "--verify", world.verify).returncode == 0


def test_keys_reach_the_harness_that_needs_them_and_nothing_else(world: World) -> None:
    seen = str(world.folder / "seen")
    note = f"open({seen!r}, 'w').write('{{}}{{}}'.format(*map(os.environ.get, ('OWN_KEY', 'OTHER_API_KEY'))))\n"
    world.harness("strong", note + "print(os.environ['OWN_KEY'])\n" + world.solve, keys=["OWN_KEY"])
    world.evidence(strong=0.9)
    verify = f'test -z "$OWN_KEY$OTHER_API_KEY" && {world.verify}'
    secret = "a-secret-that-nobody-sees"
    done = world.run("Fix add", "--verify", verify, OWN_KEY=secret, OTHER_API_KEY="b-secret-of-others")
    assert done.returncode == 0, done.stderr
    assert (world.folder / "seen").read_text() == f"{secret}None"
    kept = [path for path in (world.folder / "work").rglob("*") if path.is_file()]
    assert any("[OWN_KEY]" in path.read_text(errors="replace") for path in kept)
    assert not any(secret.encode() in path.read_bytes() for path in [*kept, world.folder / "store.db"])


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_in_the_sandbox_only_the_checkout_is_writable(world_elsewhere: World) -> None:
    world = world_elsewhere
    outside = world.folder / "outside"
    world.harness("strong", f"try: open({str(outside)!r}, 'w')\nexcept OSError: pass\n" + world.solve)
    world.evidence(strong=0.9)
    done = world.run("Fix add", "--verify", world.verify, "--sandbox", "bubblewrap")
    assert done.returncode == 0, done.stderr
    assert not outside.exists()
    assert world.git("status", "--short") == "M calc.py"


def test_without_bubblewrap_a_sandbox_is_refused(ready: World, error_of: Say) -> None:
    tools = ready.folder / "tools"
    tools.mkdir()
    for name in ("git", "sh"):
        (tools / name).symlink_to(Path(shutil.which(name) or name))
    said = error_of(ready.run("Fix add", "--verify", ready.verify, "--sandbox", "bubblewrap", PATH=str(tools)))
    assert "apt-get install bubblewrap" in said
    assert "choose from bubblewrap" in error_of(ready.run("Fix add", "--verify", ready.verify, "--sandbox", "docker"))
    assert unchanged(ready)
