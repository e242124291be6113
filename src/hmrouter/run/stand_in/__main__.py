"""Start the stand-in by hand: `python -m hmrouter.run.stand_in 8765 fake-error=error fake-hang=hang`."""

from __future__ import annotations

import sys

from hmrouter.run.stand_in import Behaviour, StandIn


def main(port: str = "0", *models: str) -> None:
    """Serve until Ctrl-C; prints the address."""
    behaviours = {name: Behaviour.parse(text) for name, _, text in (model.partition("=") for model in models)}
    with StandIn(behaviours, port=int(port)) as stand_in:
        sys.stdout.write(f"{stand_in.url}\n")
        sys.stdout.flush()
        stand_in.wait_for_the_end()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(0)
