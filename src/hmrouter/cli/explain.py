"""`hmrouter explain`: why a decision was made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hmrouter.cli.output import Json, echo, given_text, print_json


def explain(
    decision: Annotated[str, typer.Argument(help="What `route --json` printed: a file, or - for standard input.")],
    as_json: Json = False,
) -> None:
    """Say in words why a pair was chosen, what stands behind it, and what would change the choice.

    Example: `hmrouter route "Fix the failing CI job" --json | hmrouter explain -`
    """
    from hmrouter.decide.document import elsewhere_from_json, from_json, to_dict
    from hmrouter.decide.explanation import comparison, in_words
    from hmrouter.errors import InputError

    if decision == "-" or decision.lstrip().startswith("{"):
        text = given_text(decision, "the decision")
    else:
        try:
            text = Path(decision).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
            raise InputError(
                f"cannot read the decision {decision}: {reason}; give a file with what `hmrouter route --json` printed"
            ) from e
    made, elsewhere = from_json(text), elsewhere_from_json(text)
    lines = in_words(made, elsewhere)
    if as_json:
        print_json(to_dict(made, elsewhere) | {"comparison": comparison(made), "explanation": lines})
        return
    for line in lines:
        echo(line)
