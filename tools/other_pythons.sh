#!/usr/bin/env bash
# The tests with each newer Python that is here, each in an environment of its own (.venv-3.12, .venv-3.13). A version
# is found by its name, or by pyenv or uv where these are installed; nothing is downloaded for it. Without it: one line.
set -euo pipefail
cd "$(dirname "$0")/.."

interpreter() {
    if "python$1" -c '' 2>/dev/null; then
        echo "python$1"
    elif command -v pyenv >/dev/null && compgen -G "$(pyenv root)/versions/$1.*/bin/python$1" >/dev/null; then
        compgen -G "$(pyenv root)/versions/$1.*/bin/python$1" | tail -1
    elif command -v uv >/dev/null; then
        uv python find --no-python-downloads "$1" 2>/dev/null || true
    fi
}

for version in 3.12 3.13; do
    python="$(interpreter "$version")"
    if [ -z "$python" ]; then
        echo "note: no Python $version here; its tests are skipped (Debian: apt-get install python$version-venv; or uv)"
        continue
    fi
    echo "Python $version: $("$python" --version)"
    make test PYTHON="$python" VENV=".venv-$version"
done
