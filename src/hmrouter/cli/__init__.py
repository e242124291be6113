"""The command line: `hmrouter COMMAND`. One file per command.

Standard output holds the answer (with `--json`, one JSON document, also where it failed), standard error everything
else. Exit 0: fine, 1: failed with one clear line, 2: wrong usage.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn

from hmrouter import __version__
from hmrouter.cli.ending import clean_ending
from hmrouter.errors import HMRouterError, UsageError
from hmrouter.printable import printable


def main() -> None:
    """Run the command line and turn errors into one line and an exit code."""
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal that cannot show a character still shows the rest
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            with clean_ending():
                _run(sys.argv[1:])
        finally:
            sys.stdout.flush()  # here, where a failure still has an exit code
    except HMRouterError as e:
        _refuse(e)
    except BrokenPipeError:  # the reader of our output left: `hmrouter ... | head`
        _exit(1)
    except OSError as e:  # most likely a full disk behind `hmrouter ... > file`
        _say_error(f"{e.filename or 'cannot write to standard output'}: {e.strerror or e}")
        _exit(1)


def _run(typed: list[str]) -> None:
    if typed == ["--version"]:  # what scripts ask; it takes no command line to answer
        sys.stdout.write(f"hmrouter {__version__}\n")
        sys.exit(0)
    from hmrouter.cli.app import tree

    tree(typed[0] if typed else _asked_by_tab())()


def _asked_by_tab() -> str:
    """Return the command whose values a shell's Tab asks for; nothing else has to be loaded then."""
    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    before = words.split()[1:] if "_HMROUTER_COMPLETE" in os.environ else []
    return before[0] if len(before) > 1 or (words.endswith((" ", "\n")) and before) else ""


def _refuse(error: HMRouterError) -> NoReturn:
    """Say an error in one line, and with `--json` as a document, too."""
    from hmrouter.cli.error_words import in_words

    message, code = " ".join(in_words(error).split()), 2 if isinstance(error, UsageError) else 1
    _say_error(message)
    if "--json" in sys.argv[1:]:
        from hmrouter.cli.output import print_json

        with suppress(OSError):  # of a pipe that nobody reads; the line was said
            print_json("error", {"message": message, "exit_code": code, **error.to_dict()})
    _exit(code)


def _say_error(message: str) -> None:
    sys.stderr.write(f"error: {printable(' '.join(message.split()))}\n")


def _exit(code: int) -> NoReturn:
    try:
        sys.stdout.flush()
    except OSError:  # Python must not try again at exit to write what nobody can take
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
