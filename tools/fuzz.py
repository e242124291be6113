"""Fuzzing the readers: `python tools/fuzz.py SECONDS [SEED]`, or `make fuzz SECONDS=600`.

Every input is a whole log of some format with damage done to it, made from its number alone. It is read in a process
that may use 1 GB of memory and a bounded time of the processor. Each must be read, or refused in one clear line; what
is neither is printed with its number, which makes the same input again.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz_formats import BUILDERS, Files

BATCH = 200
"""Inputs that one process reads."""
MEMORY = 2**30
CPU_OF_AN_INPUT = 10.0
"""Seconds; each takes a few thousandths."""
CPU_OF_A_PROCESS = 300

HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 2**63, -(2**70), 1e308, float("nan"), float("inf"), "", " ", "\0", "\ud800", "\x1b]0;x\x07",
    "\u202e", "a" * 3000, "=1+1", "../../etc/passwd", "[REDACTED]" * 20, "9999-12-31T23:59:59-23:59", [], {}, [[]] * 3,
    {"": ""}, ["a", 1, None], int("9" * 400),
)  # fmt: skip
"""Values that take the place of others in JSON."""


def damaged(number: int) -> tuple[str, Files]:
    """Make input number so and so: the name of its format, and its files."""
    dice = random.Random(number)
    name = dice.choice(list(BUILDERS))
    files = dict(BUILDERS[name]())
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        path = dice.choice(list(files))
        files[path] = (
            _with_other_values(files[path], dice) if dice.random() < 0.5 else _with_other_bytes(files[path], dice)
        )
    if dice.random() < 0.1:
        del files[dice.choice(list(files))]
    return name, _packed(files, dice)


def _with_other_values(content: bytes, dice: random.Random) -> bytes:
    """Put something hostile in the place of a value of a JSON document, or of a line of one."""
    lines = content.splitlines() or [b""]
    place = dice.randrange(len(lines))
    try:
        document = json.loads(lines[place])
    except (ValueError, RecursionError):
        return _with_other_bytes(content, dice)
    holders = list(_holders(document))
    if not holders:
        return content
    holder, key = dice.choice(holders)
    if isinstance(holder, dict) and dice.random() < 0.2:
        holder[str(dice.choice(HOSTILE))[:5000]] = holder.pop(key)
    else:
        holder[key] = dice.choice(HOSTILE)
    lines[place] = json.dumps(document).encode()
    return b"\n".join(lines)


def _holders(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _holders(value[key])


def _with_other_bytes(content: bytes, dice: random.Random) -> bytes:
    data = bytearray(content)
    match dice.randrange(6):
        case 0:  # flip some
            for _ in range(dice.choice([1, 3, 30])):
                if data:
                    data[dice.randrange(len(data))] = dice.randrange(256)
        case 1:  # cut off
            del data[dice.randrange(len(data) + 1) :]
        case 2:  # repeat a piece
            start = dice.randrange(len(data) + 1)
            data[start:start] = data[start : start + dice.choice([1, 10, 100])] * dice.choice([2, 100, 5000])
        case 3:  # digits, brackets, quotes without end
            start = dice.randrange(len(data) + 1)
            data[start:start] = dice.choice([b"9", b"[", b'{"a":', b'"', b",", b"\n", b"\\", b"\0"]) * dice.choice(
                [1, 5000, 70_000]
            )
        case 4:  # the number that stands there becomes another
            found = list(re.finditer(rb"\d+", data))
            if found:
                spot = dice.choice(found)
                data[spot.start() : spot.end()] = dice.choice([b"1e999", b"-1", b"9" * 30, b"1" * 5000, b"NaN", b"0x1"])
        case 5:  # a piece is missing
            start = dice.randrange(len(data) + 1)
            del data[start : start + dice.choice([1, 10, 100])]
    return bytes(data)


def _packed(files: dict[str, bytes], dice: random.Random) -> Files:
    kind = dice.choice(["", "", "", "zip", "tar", "gz"])
    packed = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(packed, "w", dice.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    elif kind == "tar":
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    elif kind == "gz" and len(files) == 1:
        ((name, content),) = files.items()
        return {f"{name}.gz": _perhaps_broken(gzip.compress(content), dice)}
    else:
        return files
    return {f"packed.{kind}": _perhaps_broken(packed.getvalue(), dice)}


def _perhaps_broken(content: bytes, dice: random.Random) -> bytes:
    return _with_other_bytes(content, dice) if dice.random() < 0.3 else content


def fault_of(number: int, folder: Path) -> str:
    """Read input number so and so in an empty folder, and say what is wrong with how it went; "" if nothing is."""
    from hmrouter.errors import HMRouterError
    from hmrouter.logs import read_logs

    name, files = damaged(number)
    (folder / "in").mkdir()
    (folder / "scratch").mkdir()
    tempfile.tempdir = str(folder / "scratch")
    for path, content in files.items():
        (folder / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / path).write_bytes(content)
    began = time.process_time()
    said = ""
    try:
        for _ in read_logs(folder / "in", model="gpt-5", harness="codex"):
            pass
    except HMRouterError as error:
        said = str(error)
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"
    if not said.isprintable() or "please report" in said or len(said) > 20_000:
        return f"{name}: {said[:2000]!r}"
    if (spent := time.process_time() - began) > CPU_OF_AN_INPUT:
        return f"{name}: took {spent:.0f} seconds"
    return f"{name}: left files behind" if os.listdir(folder / "scratch") else ""


def read_batch(first: int) -> None:
    """Read a batch of inputs in this process, which is limited from now on; tell what goes wrong, and where it is."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_OF_A_PROCESS, CPU_OF_A_PROCESS))
    for number in range(first, first + BATCH):
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            if fault := fault_of(number, Path(folder)):
                sys.stdout.write(f"FAULT {number} {fault}\n")
            tempfile.tempdir = None


def main() -> int:
    """Fuzz for so many seconds; 1 if anything was found."""
    seconds, first = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time()) * 1000
    end, number, faults = time.monotonic() + seconds, first, 0
    while time.monotonic() < end:
        command = [sys.executable, __file__, "--batch", str(number)]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        found = [line for line in lines if line.startswith("FAULT")]
        if done.returncode:
            found.append(
                f"FAULT {lines[-1] if lines else number} the process ended with {done.returncode}: {done.stderr[-500:]}"
            )
        for line in found:
            sys.stdout.write(f"{line}\n")
        faults += len(found)
        number += BATCH
    sys.stdout.write(f"{number - first:,} inputs from number {first}, {faults} faults\n")
    return int(faults > 0)


if __name__ == "__main__":
    if sys.argv[1] == "--batch":
        read_batch(int(sys.argv[2]))
    else:
        sys.exit(main())
