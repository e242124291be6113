"""Keys: which of them a harness gets, and that none is ever printed or stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import quote

from hmrouter.run.drivers.base import Needs

SHORTEST = 6
"""Characters; a shorter value is a word that occurs by chance, and masking it would spoil what is read."""

_NAME = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?)(?:_|$)", re.IGNORECASE)
_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
# Keys that a harness finds by itself, in files of its own sign-in, are in no variable that we know.
_SHAPES = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[opsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|AIza[\w-]{30,}|xox[abp]-[\w-]{10,})"
    r"|(?<=Bearer )[\w.~+/-]{16,}=*"
)


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a key or a password, by its name or as an address with a password in it.

    >>> is_secret("OPENAI_API_KEY", "x"), is_secret("STORE", "postgresql://me:pw@host/db"), is_secret("PATH", "/")
    (True, True, False)
    """
    return bool(_NAME.search(name) or _ADDRESS.match(value))


def environment_for(needs: Needs, environ: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Make the environment of a harness: everything but the secrets that it does not need, and `extra` on top.

    >>> environ = {"PATH": "/bin", "OPENAI_API_KEY": "mine", "NPM_TOKEN": "theirs", "HMROUTER_STORE": "sqlite:///x.db"}
    >>> environment_for(Needs(keys=("OPENAI_API_KEY",)), environ, {"HOME": "/tmp"})
    {'PATH': '/bin', 'OPENAI_API_KEY': 'mine', 'HOME': '/tmp'}
    """
    named = {*needs.keys, *needs.settings}
    kept = {
        name: value
        for name, value in environ.items()
        if name in named or not (name.startswith("HMROUTER_") or is_secret(name, value))
    }
    return {**kept, **extra}


def masker(*environs: Mapping[str, str]) -> Callable[[str], str]:
    """Make a function that replaces each secret of the environments in a text by the name of its variable.

    >>> masker({"OPENAI_API_KEY": "a-long-key"})("refused: a-long-key")
    'refused: [OPENAI_API_KEY]'
    """
    spelled: dict[str, str] = {}
    for environ in environs:
        for name, value in environ.items():
            if is_secret(name, value) and len(value) >= SHORTEST:
                for form in (value, json.dumps(value)[1:-1], quote(value, safe="")):
                    spelled.setdefault(form, f"[{name}]")
    if not spelled:
        return lambda text: _SHAPES.sub("[key]", text)
    # The longest first: one key may be the beginning of another.
    known = re.compile("|".join(re.escape(form) for form in sorted(spelled, key=len, reverse=True)))

    def mask(text: str) -> str:
        return _SHAPES.sub("[key]", known.sub(lambda found: spelled[found.group()], text))

    return mask
