"""Names and keys of harnesses that reach their models through LiteLLM."""

from __future__ import annotations

from collections.abc import Mapping

from hmrouter.run.drivers.spelling import plain_spelling, provider_spelling

ADDRESS = "OPENAI_API_BASE"
PROVIDERS = {
    "anthropic": "anthropic", "openai": "openai", "google": "gemini", "x-ai": "xai", "deepseek": "deepseek",
    "moonshotai": "moonshot", "zai": "zai", "mistral": "mistral",
}  # fmt: skip
"""Maker -> what LiteLLM calls it."""
KEYS = (
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "XAI_API_KEY", "DEEPSEEK_API_KEY", "MOONSHOT_API_KEY",
    "ZAI_API_KEY", "MISTRAL_API_KEY", "OPENROUTER_API_KEY",
)  # fmt: skip


def litellm_spelling(model: str, environ: Mapping[str, str], address: str = ADDRESS) -> str | None:
    """Spell a model as `provider/name`; at an address of the user's own, any name goes as it is written.

    >>> litellm_spelling("claude-sonnet-4-5", {}), litellm_spelling("kimi-k2-5", {})
    ('anthropic/claude-sonnet-4-5', 'moonshot/kimi-k2.5')
    >>> litellm_spelling("our-own", {}) is None, litellm_spelling("our-own", {ADDRESS: "http://localhost:8000/v1"})
    (True, 'openai/our-own')
    """
    return f"openai/{plain_spelling(model)}" if environ.get(address) else provider_spelling(model, PROVIDERS)
