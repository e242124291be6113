"""A harness that is a small program: it mends the file that its task names, if it is good enough at that kind of task.

harness.py --version
harness.py MODEL PROMPT
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path

GOOD, POOR = 0.9, 0.35
"""How often a model does a task of the kind that it is good at, and of another kind."""


def luck(*parts: str) -> float:
    """Draw a number from 0 to 1 that is the same whenever the parts are."""
    return int(hashlib.sha256("/".join(parts).encode()).hexdigest()[:12], 16) / 16**12


def main() -> None:
    """Work on a task."""
    if sys.argv[1:] == ["--version"]:
        print("scripted 1.0")
        return
    model, prompt = sys.argv[1:]
    file = Path(re.search(r"(\w+/\w+\.py)", prompt).group())  # type: ignore[union-attr]
    good_at = model.removeprefix("good-at-")
    skill = GOOD if file.parent.name == good_at else POOR
    broken = file.read_text()
    right = luck(model, str(file), os.environ.get("NIGHT", "")) < skill
    file.write_text(broken.replace("return None", "return n * 2" if right else "return n + 2"))
    print(json.dumps({"type": "result", "cost": 0.05 + 0.05 * luck(model, str(file))}))


if __name__ == "__main__":
    main()
