#!/usr/bin/env bash
# Runs one task as the inputs say, and writes the outputs. Inputs come as environment, so that no text is read as code.
set -euo pipefail

command -v hmrouter >/dev/null || { echo "::error::hmrouter is not installed; install it in a step before this one"; exit 1; }

words=(run "$TASK" --verify "$VERIFY" --branch "$BRANCH" --budget "$BUDGET" --k "$ATTEMPTS" --json)
[ -z "${POOL:-}" ] || words+=(--pool "$POOL")
[ -z "${SETUP:-}" ] || words+=(--setup "$SETUP")
while IFS= read -r option; do
  [ -z "$option" ] || words+=("$option")
done <<<"${OPTIONS:-}"

answer="$(mktemp)"
code=0
hmrouter "${words[@]}" >"$answer" || code=$?

python3 - "$answer" "$BRANCH" >>"$GITHUB_OUTPUT" <<'PYTHON'
import json, sys

try:
    with open(sys.argv[1]) as file:
        said = json.load(file)
except ValueError:
    said = {}
if "tasks" not in said:  # it was refused: the line is in the log
    said = {"tasks": [], "solved": 0, "dollars": 0.0}
solved = said["solved"] > 0
print(f"solved={str(solved).lower()}")
print(f"branch={sys.argv[2] if solved else ''}")
print(f"plan={said['tasks'][0]['plan'] if said['tasks'] else ''}")
print(f"dollars={said['dollars']:.4f}")
PYTHON
exit "$code"
