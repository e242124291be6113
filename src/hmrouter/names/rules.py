"""Rules that bring a name into its regular form: case, separators, providers, dates."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")

_YEAR, _MM, _DD = r"20[12]\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_BRACKETED_DATE = re.compile(rf"[(\[]\s*(?:{_MONTH}[\s.,]+)?(?:\d{{1,2}}[\s.,]+)?{_YEAR}(?:[-/.]?\d\d){{0,2}}\s*[)\]]")

_VENDOR = r"amazon|anthropic|google|meta|minimax|mistral(?:ai)?|moonshot(?:ai)?|nvidia|openai|qwen|x-?ai|z-?ai"
_FAMILY = r"claude|codestral|devstral|gemini|gemma|glm|gpt|grok|kimi|llama|minimax|mistral|nemotron|nova|o\d|phi|qwen"
_MODEL_RULES = (
    # Bedrock writes region and vendor in front (us.anthropic.claude-...), others "Google Gemini".
    (re.compile(rf"^(?:(?:us|eu|apac|au|jp|global)-)?(?:{_VENDOR})-(?=(?:{_FAMILY})(?:[-:\d]|$))"), ""),
    # Behind, Bedrock writes a version that is not the model's: -v1:0, on newer Claude ids -v1.
    (re.compile(r"(?<=\w)-v\d+:0$"), ""),
    (re.compile(r"^(claude-[a-z]+-\d+(?:-\d+)?)-v1$"), r"\1"),
    # Whole dates only: in deepseek-r1-0528 or gemini-2-5-pro-preview-03-25 the digits tell models apart.
    (re.compile(rf"(?<=\w)-{_YEAR}(?:{_MM}{_DD}|-{_MM}-{_DD})(?=[-:]|$)"), ""),
    (re.compile(r"^(claude|gemini|gemma|glm|gpt|grok|llama|phi|qwen)(?=\d)"), r"\1-"),
    (re.compile(r"^claude-(\d{1,2}(?:-\d{1,2})?)-?(fable|haiku|opus|sonnet)(?=[-:]|$)"), r"claude-\2-\1"),
    (re.compile(r"-(minimal|low|medium|high|xhigh)-(?:effort|reasoning)(?=[-:]|$)"), r"-\1"),
)


def slug(text: str) -> str:
    """Write a name as lower case words joined by dashes; colons between words stay.

    >>> slug("Command R+"), slug("qwen3:8b")
    ('command-r-plus', 'qwen3:8b')
    """
    parts = text.lower().replace("+", " plus ").split(":")  # Command R+ and Command R are two models
    return ":".join(filter(None, ("-".join(_WORD.findall(part)) for part in parts)))


def harness_forms(name: str) -> tuple[str, ...]:
    """The only form of a harness name; one without any letter or digit stays as it is.

    >>> harness_forms("mini-SWE-agent")
    ('mini-swe-agent',)
    """
    text = name.replace(":", "-").strip()
    return (slug(text) or text,)


def model_forms(name: str, providers: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The exact form of a model name and, last, the regular one, in which dates and the like are gone.

    The exact form exists because at times only the date tells: "DeepSeek R1 (May 2025)" is not the first R1.

    >>> model_forms("openai/gpt-4.1-2025-04-14", providers=frozenset({"openai"}))
    ('gpt-4-1-2025-04-14', 'gpt-4-1')
    """
    segments = [segment for segment in name.lower().split("/") if slug(segment)]
    if not segments:
        return (name.strip(),)
    while len(segments) > 1 and slug(segments[0]) in providers:
        del segments[0]
    text = "/".join(segments)
    return slug(text), _regular(slug(_BRACKETED_DATE.sub(" ", text)) or slug(text))


def _regular(name: str) -> str:
    while True:  # until nothing changes, so that a canonical name is its own canonical name
        before = name
        for pattern, replacement in _MODEL_RULES:
            name = pattern.sub(replacement, name)
        if name == before:
            return name
