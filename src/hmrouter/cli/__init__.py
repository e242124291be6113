"""The command line: `hmrouter COMMAND`. One file per command.

Standard output holds the answer (with `--json`, one JSON document), standard error everything else. Exit 0: fine,
1: failed with one clear line, 2: wrong usage.
"""

from __future__ import annotations

import os
import sys
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
        from hmrouter.cli.error_words import in_words

        _fail(in_words(e), 2 if isinstance(e, UsageError) else 1)
    except BrokenPipeError:  # the reader of our output left: `hmrouter ... | head`
        _fail("", 1)
    except OSError as e:  # most likely a full disk behind `hmrouter ... > file`
        _fail(f"{e.filename or 'cannot write to standard output'}: {e.strerror or e}", 1)


def _run(typed: list[str]) -> None:
    if typed == ["--version"]:  # what scripts ask; it takes no command line to answer
        sys.stdout.write(f"hmrouter {__version__}\n")
        sys.exit(0)
    from hmrouter.cli.app import tree

    tree(typed[0] if typed else "")()


def _fail(message: str, code: int) -> NoReturn:
    if message:
        sys.stderr.write(f"error: {printable(' '.join(message.split()))}\n")
    try:
        sys.stdout.flush()
    except OSError:  # Python must not try again at exit to write what nobody can take
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
