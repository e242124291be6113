import csv
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hmrouter.errors import InputError
from hmrouter.names import Names, canonical_model
from hmrouter.names.models import SIZES, ModelInfo, ModelTable, describe_model

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
OUTCOMES = sorted(SHARED.glob("corpus/*/outcomes.csv"))
MIXTURES = {"multiple-ob1"}
"""Not one model, so not of any age."""


def month(text: str) -> float:
    year, number = text.split("-")
    return int(year) + (int(number) - 1) / 12


def written(folder: Path, text: str) -> Path:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_model_of_the_table_is_known_and_canonical() -> None:
    known = ModelTable.shipped().known
    assert {name for name in known if canonical_model(name) != name} == set()
    assert known <= Names().known_models


def test_every_known_model_has_a_release_but_mixtures() -> None:
    assert {name for name in Names().known_models if describe_model(name).release is None} == MIXTURES


@pytest.mark.skipif(not OUTCOMES, reason=f"no corpus in {SHARED}; set HMROUTER_SHARED_DATA")
def test_the_corpus_models_are_in_the_table() -> None:
    models = set()
    for path in OUTCOMES:
        with path.open(encoding="utf-8", newline="") as file:
            models |= {canonical_model(row["model"]) for row in csv.DictReader(file)}
    assert models - ModelTable.shipped().known == MIXTURES


def test_a_family_has_one_vendor() -> None:
    lines = {(info.family, info.vendor) for info in map(describe_model, Names().known_models)}
    assert len({family for family, _ in lines}) == len(lines)


@pytest.mark.parametrize(
    ("name", "vendor", "family", "size"),
    [
        ("claude-opus-4-5", "anthropic", "claude-opus", "large"),
        ("claude-haiku-9", "anthropic", "claude-haiku", "small"),
        ("claude-sonnet-3-7:thinking", "anthropic", "claude-sonnet", "large"),
        ("gpt-4o", "openai", "gpt", "large"),
        ("gpt-4-1106-preview", "openai", "gpt", "large"),
        ("gpt-5-high", "openai", "gpt", "large"),
        ("gpt-5-4-mini", "openai", "gpt-mini", "small"),
        ("gpt-5-3-codex", "openai", "gpt-codex", "large"),
        ("gpt-5-1-codex-max", "openai", "gpt-codex", "large"),
        ("gpt-5-6-luna", "openai", "gpt-luna", "small"),
        ("gpt-oss-120b-high", "openai", "gpt-oss", "large"),
        ("o3", "openai", "o", "large"),
        ("o4-mini-low", "openai", "o-mini", "small"),
        ("gemini-2-5-pro-preview-03-25", "google", "gemini-pro", "large"),
        ("gemini-3-1-flash-lite", "google", "gemini-flash-lite", "small"),
        ("gemma-4-e4b-it", "google", "gemma", "small"),
        ("deepseek-chat-v3-0324", "deepseek", "deepseek", "large"),
        ("deepseek-r1-0528", "deepseek", "deepseek-r", "large"),
        ("glm-5-1", "zhipu", "glm", "large"),
        ("qwen-3-coder-480b-a35b-instruct", "qwen", "qwen-coder", "large"),
        ("qwen-3-coder-30b-a3b-instruct", "qwen", "qwen-coder", "small"),
        ("qwen-3:8b", "qwen", "qwen", "small"),
        ("kimi-k2-thinking", "moonshot", "kimi-k", "large"),
        ("kimi-2-5", "moonshot", "kimi-k", "large"),
        ("minimax-m3", "minimax", "minimax-m", "large"),
        ("llama-3-3-70b-instruct", "meta", "llama", "large"),
        ("llama-3-3-nemotron-super-49b", "nvidia", "llama-nemotron-super", "large"),
        ("grok-code-fast-1", "xai", "grok-code-fast", "large"),
        ("devstral-medium-2507", "mistral", "devstral-medium", "large"),
        ("mistral-medium", "mistral", "mistral-medium", "large"),
        ("mixtral-8x22b", "mistral", "mixtral", "large"),
        ("hy3", "tencent", "hy", "large"),
        ("starcoder2-15b", "starcoder", "starcoder", "small"),
        ("gpts-for-all-40b", "gpts", "gpts-for-all", "small"),
        ("gpts-for-all-41b", "gpts", "gpts-for-all", "large"),
    ],
)
def test_vendor_family_and_size(name: str, vendor: str, family: str, size: str) -> None:
    info = describe_model(name)
    assert (info.vendor, info.family, info.size) == (vendor, family, size)


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("Claude Opus 4.5", "2025-11"),
        ("anthropic/claude-opus-4-5-20251101", "2025-11"),
        ("deepseek-r1-0528", "2025-05"),
        ("devstral-2512", "2025-12"),
        ("gpt-4-1106-preview", "2023-11"),
        ("gpt-5-xhigh", "2025-08"),
        ("o3-mini-low", "2025-01"),
        ("claude-sonnet-3-7:thinking", "2025-02"),
    ],
)
def test_releases(name: str, release: str) -> None:
    assert describe_model(name).release == pytest.approx(month(release))


def test_an_unknown_model_is_as_old_as_the_latest_of_its_family_else_of_its_vendor() -> None:
    table = ModelTable(
        {
            "vendors": {"our-lab": ["our"]},
            "models": {
                "our-coder-1": {"release": "2025-01"},
                "our-coder-2": {"release": "2025-07"},
                "our-chatter-9": {"release": "2026-01"},
            },
        }
    )
    assert table.info("our-coder-1").release == 2025.0
    assert table.info("our-coder-3").release == 2025.5
    assert table.info("our-painter-1").release == 2026.0
    assert table.info("nobody-knows-it-1").release is None


def test_a_users_file_wins_key_by_key(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        [vendors]
        "Our Lab" = ["our-llama-3", "qwen-3"]
        [models]
        "GPT-5.5" = { family = "gpt-large" }
        our-llama-3-8b = { release = "2026-01", size = "large" }
        gpt-5 = { release = "2025-07" }
        """,
    )
    table = ModelTable.from_toml(path)
    assert describe_model("gpt-5-5", table) == ModelInfo("openai", "gpt-large", "large", month("2026-04"))
    assert describe_model("gpt-5", table).release == 2025.5
    assert describe_model("our-llama-3-8b", table) == ModelInfo("our-lab", "our-llama", "large", 2026.0)
    assert [table.info(name).vendor for name in ("qwen-3-32b", "qwen-2-5-7b", "our-llama-30")] == [
        "our-lab", "qwen", "our",
    ]  # fmt: skip
    assert ModelTable.shipped().info("gpt-5").release == month("2025-08")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[models", "is not a TOML file"),
        ("[model]", "no key 'model'; choose from vendors, models"),
        ("models = 3", "models must be a table, got 3"),
        ("vendors = ['x']", "vendors must be a table"),
        ("[vendors]\nus = 'our'", "vendors.us must be a list of what its models' names begin with, got 'our'"),
        ("[vendors]\nus = ['?']", "vendors.us must be a list"),
        ("[vendors]\n'' = ['our']", "vendors. must be a list"),
        ("[vendors]\nus = ['our']\nthem = ['Our']", "names with 'our' are given to both 'us' and 'them'"),
        ("[models]\nour-1 = '2026-01'", "models.our-1 must be a table like { release = \"2026-01\" }, got '2026-01'"),
        ("[models]\nour-1 = { made = 'here' }", "no key 'made'; choose from vendor, family, size, release"),
        ("[models]\ngpt-5.5 = { size = 'small' }", "no key '5'; choose from .*; a name with a dot needs quotes"),
        ("[models]\nour-1 = { vendor = 3 }", "vendor of model 'our-1' must be a text, got 3"),
        ("[models]\nour-1 = { family = ' ' }", "family of model 'our-1' must be a text"),
        ("[models]\nour-1 = { size = 'big' }", "size 'big' of model 'our-1' is not known; choose from small, large"),
        ("[models]\nour-1 = { release = 2026-01-01 }", "release of model 'our-1' must be a text"),
        ("[models]\nour-1 = { release = '2026-13' }", "release '2026-13' of model 'our-1' is not a month"),
        ("[models]\n'our 1' = {}\nour-1 = {}", "model 'our-1' is described twice, the second time as 'our-1'"),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        ModelTable.from_toml(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nowhere\.toml"):
        ModelTable.from_toml(tmp_path / "nowhere.toml")


PIECES = st.sampled_from(
    ["claude", "gpt", "o3", "k2", "v3", "8b", "8x7b", "a3b", "0528", "high", ":", "/", "²", "٣", "千问"]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("-".join), st.lists(PIECES).map("".join)))
@example("")
@example("9" * 5000 + "b")
@example("\ud800")
def test_any_text_is_described(name: str) -> None:
    info = describe_model(name)
    assert info.vendor
    assert info.family
    assert info.size in SIZES
    assert describe_model(canonical_model(name)) == info
