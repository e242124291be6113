"""The JSON documents that `--json` prints, each with the number of its form (docs/json.md describes them).

A form's number grows when a field goes away or changes its meaning; new fields may come at any time.
"""

from __future__ import annotations

SCHEMAS: dict[str, int] = {
    "bench-list": 1,
    "bench-run": 1,
    "bench-validate": 1,
    "decisions": 1,
    "demo": 1,
    "doctor": 1,
    "error": 1,
    "explain": 1,
    "history-add": 1,
    "history-list": 1,
    "history-remove": 1,
    "import": 1,
    "names": 1,
    "names-apply": 1,
    "names-merge": 1,
    "names-split": 1,
    "plan": 1,
    "probe": 1,
    "probe-status": 1,
    "report": 1,
    "route": 1,
    "run": 1,
    "store-drop-texts": 1,
    "store-export": 1,
    "store-forget": 1,
    "store-set": 1,
    "store-status": 1,
    "store-undo": 1,
    "store-vacuum": 1,
    "train": 1,
}


def schema(kind: str) -> str:
    """Name the form of a document.

    >>> schema("route")
    'hmrouter.route/1'
    """
    return f"hmrouter.{kind}/{SCHEMAS[kind]}"
