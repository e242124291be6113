"""Writes docs/results.md from finished benchmark runs, so that no figure in it is typed by hand.

    python tools/write_results.py out/all out/sparse20 > docs/results.md

Each directory holds the results.json of one `hmrouter bench run`; `command.txt` beside it holds its command line, and
`note.txt`, if there is one, what else a reader must know of the run.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from hmrouter import __version__
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.report.markdown import table_markdown
from paper_tables import beside_ours

HERE = Path(__file__).parent


def main() -> None:
    """Print the page."""
    text = (HERE / "results_text.md").read_text()
    for folder in sys.argv[1:]:
        out = Path(folder)
        rows = json.loads((out / "results.json").read_text())
        for name in dict.fromkeys(r["experiment"] for r in rows):
            own = [r for r in rows if r["experiment"] == name]
            tables = EXPERIMENTS.load(name)().tables(own)
            beside = beside_ours(name, tables)
            tables = [*([beside] if beside else []), *tables]
            if name == "sparse":  # the accuracy of every setting on every benchmark is in the report
                tables = tables[:2] + [t for t in tables[2:] if t.title.startswith("Difference")]
            note = f" ({(out / 'note.txt').read_text().strip()})" if (out / "note.txt").exists() else ""
            block = f"Made by `{(out / 'command.txt').read_text().strip()}`{note}.\n\n"
            block += "\n\n".join(table_markdown(t) for t in tables)
            # A second run of an experiment has its place by the name of its folder.
            place = out.name if f"<!-- {out.name} -->" in text else name
            text = text.replace(f"<!-- {place} -->", block)
    stamp = f"hmrouter {__version__}, {datetime.now(UTC):%Y-%m-%d}"
    sys.stdout.write(text.replace("<!-- stamp -->", stamp))


if __name__ == "__main__":
    main()
