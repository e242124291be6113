"""Finding keys and passwords of known forms in task texts, to warn of them at import.

A text that holds one carries it into the store, into exports, and to whatever embeds texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hmrouter.logs.base import Notes
from hmrouter.types import Outcome

FORMS = {
    "a private key": ("-----BEGIN ", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "an Anthropic key": ("sk-ant-", r"\bsk-ant-[\w-]{20,}"),
    "an OpenAI key": ("sk-", r"\bsk-(?!ant-)(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{32,}"),
    "an AWS access key": ("A", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": ("gh", r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_\w{22,}"),
    "a GitLab token": ("glpat-", r"\bglpat-[\w-]{20,}"),
    "a Google key": ("AIza", r"\bAIza[\w-]{35}"),
    "a Hugging Face token": ("hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    "a Slack token": ("xox", r"\bxox[abeoprs]-[\w-]{10,}"),
    "a password in an address": ("://", r"\b[a-z][a-z0-9+]{1,20}://[^\s/:@]{1,100}:[^\s/@]{3,100}@[\w.-]"),
}
"""What it is -> a part of it that is quickly looked for, and the whole form."""

_FORMS = {what: (mark, re.compile(form)) for what, (mark, form) in FORMS.items()}


def keys_in(text: str) -> list[str]:
    """Say which forms of keys a text holds; never the keys themselves.

    >>> keys_in("clone https://me:hunter22@example.org/repo with AKIA" + "ABCDEFGHIJKLMNOP")
    ['an AWS access key', 'a password in an address']
    """
    return [what for what, (mark, form) in _FORMS.items() if mark in text and form.search(text)]


def noting_keys(outcomes: Iterator[Outcome], notes: Notes) -> Iterator[Outcome]:
    """Pass outcomes on and remark how many tasks have texts with keys of each form."""
    last = ""
    for outcome in outcomes:
        text = outcome.task.text
        if text is not last and text != last:  # the outcomes of a task often come together
            last = text
            for what in keys_in(text):
                notes.remarks[f"texts that hold what looks like {what}; take it out, or import without texts"] += 1
        yield outcome
