"""The tests of what computes, as other processors would run them.

    python tools/other_machines.py                    # all that this processor can play
    python tools/other_machines.py haswell -- -k safe # one of them, with options for pytest

OpenBLAS has a kernel per family of processors and NumPy its own loops per width of vectors; their sums differ in the
last bits, so that what rests on such a bit passes on one machine and fails on the next. Both can be told to run as on
an older processor. Each machine below is a kernel, the loops of its time, and a number of threads.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LEFT_OUT = (
    "tests/cli", "tests/hostile", "tests/integrations", "tests/logs", "tests/run", "tests/store",
    "tests/test_readme.py",
)  # fmt: skip
"""Parts that compute nothing of their own: they read files, talk to databases, and print what others computed."""
WIDE, WIDER = "X86_V3", "X86_V4 AVX512_ICL AVX512_SPR"
"""NumPy's names of loops beyond its baseline: AVX2 with FMA, and all of AVX-512."""
ASK = (
    "import json, numpy._core._multiarray_umath as numpy, scipy.linalg, threadpoolctl;"
    "loops = [n for n in [*numpy.__cpu_baseline__, *numpy.__cpu_dispatch__] if numpy.__cpu_features__[n]];"
    "libraries = [i for i in threadpoolctl.threadpool_info() if i['internal_api'] == 'openblas'];"
    "print(json.dumps({'kernel': sorted({i['architecture'] for i in libraries}), 'loops': loops}))"
)
"""What the libraries say that they run as."""


class Machine(NamedTuple):
    """A processor that others have."""

    name: str
    kernel: str
    """OPENBLAS_CORETYPE."""
    without: str
    """The loops of NumPy that it does not have."""
    threads: int

    def environment(self, here: Collection[str]) -> dict[str, str]:
        """What makes the libraries run as on it, on a processor with these loops: no others can be switched off."""
        threads = str(self.threads)
        return {
            "OPENBLAS_CORETYPE": self.kernel,
            "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in self.without.split() if name in here),
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
        }


MACHINES = (
    Machine("prescott", "Prescott", f"{WIDE} {WIDER}", 1),
    Machine("nehalem", "Nehalem", f"{WIDE} {WIDER}", 1),
    Machine("sandybridge", "Sandybridge", f"{WIDE} {WIDER}", 1),
    Machine("haswell", "Haswell", WIDER, 2),
    Machine("zen", "Zen", WIDER, 1),
    Machine("skylakex", "SkylakeX", "", 2),
)


def main(arguments: Sequence[str]) -> int:
    """Run the tests on each machine that was asked for; 1 if a test failed on any."""
    names, options = list(arguments), list[str]()
    if "--" in names:
        names, options = names[: names.index("--")], names[names.index("--") + 1 :]
    if unknown := sorted({*names} - {m.name for m in MACHINES}):
        sys.exit(f"{unknown[0]!r} is no machine of this list: {', '.join(m.name for m in MACHINES)}")
    here = ask({})
    lines, failed = [], False
    for machine in [m for m in MACHINES if not names or m.name in names]:
        if lacks := missing(machine, here):
            lines.append(f"{machine.name:12} not played: this processor has no {lacks}")
            continue
        environment = machine.environment(here["loops"])
        found = ask(environment)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            str(2 // machine.threads),
            "-m",
            "not heavy",
            "-p",
            "no:cacheprovider",
        ]
        command += [f"--ignore={part}" for part in LEFT_OUT] + options
        say(f"-- {machine.name}: {found}")
        done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, text=True)
        say(done.stdout if done.returncode else done.stdout[-200:])
        failed |= done.returncode != 0
        counted = re.findall(r"(\d+) (passed|failed|error)", done.stdout.splitlines()[-1] if done.stdout else "")
        said = ", ".join(f"{n} {what}" for n, what in counted) or f"pytest ended with {done.returncode}"
        runs_as = f"kernel {'/'.join(found['kernel'])}, loops {found['loops'][-1]}, threads {machine.threads}"
        lines.append(f"{machine.name:12} {runs_as}: {said}")
    say("\n".join(lines))
    return int(failed)


def say(text: str) -> None:
    """Print at once: a run takes minutes."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def ask(environment: dict[str, str]) -> dict[str, list[str]]:
    """What the libraries run as under such an environment."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=os.environ | environment, check=True, capture_output=True, text=True
    )
    answer: dict[str, list[str]] = json.loads(done.stdout)
    return answer


def missing(machine: Machine, here: dict[str, list[str]]) -> str:
    """What this processor lacks to play a machine; "" if nothing."""
    if "X86_V2" not in here["loops"]:
        return "x86-64-v2"
    if machine.kernel == "SkylakeX" and "X86_V4" not in here["loops"]:
        return "AVX-512"
    return "AVX2" if machine.kernel in ("Haswell", "Zen") and "X86_V3" not in here["loops"] else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
