"""`python -m hmrouter.run.acp ORDER`, with the order as JSON."""

from __future__ import annotations

import asyncio
import json
import sys

from hmrouter.run.acp.client import Order, emit, run


def main() -> int:
    """Carry out the order given as the only argument."""
    try:
        asyncio.run(run(Order(**json.loads(sys.argv[1]))))
    except OSError as error:
        emit("error", {"code": None, "message": f"cannot start the harness: {error}", "data": None})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
