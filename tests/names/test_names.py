import csv
import os
import re
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hmrouter.errors import InputError
from hmrouter.names import Names, canonical_harness, canonical_model
from hmrouter.names.aliases import Aliases
from hmrouter.names.rules import harness_forms, model_forms

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
BENCHMARKS = sorted(path.parent.name for path in SHARED.glob("corpus/*/outcomes.csv"))
PAPER = SHARED.parent / "paper" / "hm-router.tex"
needs_corpus = pytest.mark.skipif(not BENCHMARKS, reason=f"no corpus in {SHARED}; set HMROUTER_SHARED_DATA")
needs_paper = pytest.mark.skipif(not PAPER.is_file(), reason="the paper's source is not beside the shared data")


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        # as people and leaderboards write them
        ("Claude Opus 4.1 (August 2025)", "claude-opus-4-1"),
        ("Claude-3.7 Sonnet High (February 2025)", "claude-sonnet-3-7-high"),
        ("Claude 4.5 Sonnet (20250929)", "claude-sonnet-4-5"),
        ("Claude 4 Sonnet [Aug 5, 2025]", "claude-sonnet-4"),
        ("GPT-4.1 (2025-04-14)", "gpt-4-1"),
        ("GPT-5 (2025-08-07) (medium reasoning)", "gpt-5"),
        ("GPT-5.1 (medium reasoning)", "gpt-5-1-medium"),
        ("Devstral small (2512)", "devstral-small-2512"),
        ("DeepSeek V3.2 Reasoner", "deepseek-v3-2-reasoner"),
        ("Google Gemini 2.5 Pro", "gemini-2-5-pro"),
        ("Command R+", "command-r-plus"),
        ("gpt4o", "gpt-4o"),
        ("claude3.5sonnet", "claude-sonnet-3-5"),
        # as APIs and gateways write them
        ("anthropic/claude-opus-4-1-20250805", "claude-opus-4-1"),
        ("claude-3-7-sonnet-20250219", "claude-sonnet-3-7"),
        ("openrouter/anthropic/claude-3.7-sonnet:thinking", "claude-sonnet-3-7:thinking"),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", "claude-sonnet-3-7"),
        ("bedrock/global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("anthropic.claude-v2:1", "claude-v2:1"),
        ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
        ("vertex_ai/claude-3-5-haiku@20241022", "claude-haiku-3-5"),
        ("claude-sonnet-4-0", "claude-sonnet-4"),
        ("claude-3-5-sonnet-latest", "claude-sonnet-3-5"),
        ("openai/gpt-4.1-2025-04-14", "gpt-4-1"),
        ("o3-mini-2025-01-31-high", "o3-mini-high"),
        ("models/gemini-2.0-flash-001", "gemini-2-0-flash"),
        ("together_ai/deepseek-ai/DeepSeek-V3", "deepseek-v3"),
        ("meta-llama/Meta-Llama-3.1-405B-Instruct", "llama-3-1-405b-instruct"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen-3-coder-480b-a35b-instruct"),
        ("ollama/qwen3:8b", "qwen-3:8b"),
        ("xai/grok-4.3", "grok-4-3"),
        ("moonshotai/Kimi-K2-Instruct", "kimi-k2-instruct"),
        ("MiniMax-M2.7", "minimax-m2-7"),
        # digits that tell models apart
        ("deepseek/deepseek-r1-0528", "deepseek-r1-0528"),
        ("DeepSeek R1 (January 2025)", "deepseek-r1"),
        ("DeepSeek R1 (May 2025)", "deepseek-r1-0528"),
        ("gemini-2.5-pro-preview-03-25", "gemini-2-5-pro-preview-03-25"),
        ("Gemini 2.5 Pro Preview (March 2025)", "gemini-2-5-pro-preview-03-25"),
        ("GPT 4 (1106)", "gpt-4-1106-preview"),
        # nothing but a date, or nothing to read
        ("(August 2025)", "august-2025"),
        ("2025-04-14", "2025-04-14"),
        ("openai/", "openai"),
        ("通义千问-Max", "通义千问-max"),
        (" 豆包 ", "豆包"),
        (" -- ", "--"),
    ],
)
def test_a_model_has_one_name(name: str, canonical: str) -> None:
    assert canonical_model(name) == canonical


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("Claude Code", "claude-code"),
        ("HAL Generalist", "hal-generalist-agent"),
        ("HAL Generalist Agent", "hal-generalist-agent"),
        ("Hermes", "hermes"),
        ("openclaw", "openclaw"),
        ("openclaw-local", "openclaw-local"),
        ("Terminus 2", "terminus-2"),
        ("terminus", "terminus-1"),
        ("mini-SWE-agent", "mini-swe-agent"),
        ("MiniSWEAgent", "mini-swe-agent"),
        ("Open Hands", "openhands"),
        ("OpenHands CodeAct 2.1", "openhands-codeact-2-1"),
        ("Qwen Code", "qwen-coder"),
        ("TAU-bench Tool Calling", "taubench-toolcalling"),
        ("Factory Droid", "droid"),
        ("EPAM AI/Run Developer Agent", "epam-ai-run"),
        ("team:bot v2", "team-bot-v2"),
        ("::", "--"),
        ("助手:一", "助手-一"),
    ],
)
def test_a_harness_has_one_name(name: str, canonical: str) -> None:
    assert canonical_harness(name) == canonical


WORDS = st.sampled_from(["claude", "3", "5", "sonnet", "gpt", "4", "2025", "01", "20250101", "v1", "qwen3", "us", "o3"])
PIECES = st.lists(
    WORDS | st.sampled_from(["/", ":", "-", " ", "(", ")", "openai", "+", "high", "reasoning"]), max_size=9
)
ANY_NAME = st.text(max_size=30) | PIECES.map("".join) | PIECES.map("-".join)


@given(name=ANY_NAME)
@example(name="x-2025-2025-01-01-01-01")
@example(name="openai/us.anthropic.claude-3-5-sonnet-20250101-v1:0")
def test_a_canonical_name_is_its_own_canonical_name(name: str) -> None:
    assert canonical_model(canonical_model(name)) == canonical_model(name)
    assert canonical_harness(canonical_harness(name)) == canonical_harness(name)


@given(name=ANY_NAME)
def test_a_name_is_never_lost(name: str) -> None:
    assume(name.strip())
    assert canonical_model(name)
    assert canonical_harness(name)
    assert ":" not in canonical_harness(name)


@given(name=ANY_NAME)
def test_a_canonical_name_of_words_has_dashes_only(name: str) -> None:
    assume(any(character.isalnum() for character in name))
    assert re.fullmatch(r"[^\W_]+([-:][^\W_]+)*", canonical_model(name))
    assert re.fullmatch(r"[^\W_]+(-[^\W_]+)*", canonical_harness(name))


@given(
    words=st.lists(WORDS | st.text("abcxyz0123456789", min_size=1, max_size=6), min_size=1, max_size=6),
    data=st.data(),
)
def test_case_and_separators_do_not_matter(words: list[str], data: st.DataObject) -> None:
    plain = "-".join(words)
    separators = st.text(" .-_", min_size=1, max_size=3)
    cases = st.sampled_from([str.upper, str.lower, str.title])
    other = data.draw(st.text(" .-_", max_size=2))
    for word in words:
        other += data.draw(cases)(word) + data.draw(separators)
    assert canonical_model(other) == canonical_model(plain)
    assert canonical_harness(other) == canonical_harness(plain)


TOKENS = st.sampled_from(
    ["a", "b", "a-b", "A B", "ab:c", "gpt-5", "GPT-5 Medium", "o3", "Hermes Agent", "hermes", "x/a"]
)
LAYER = st.dictionaries(TOKENS, st.lists(TOKENS, max_size=3), max_size=4)


@given(models=LAYER, harnesses=LAYER, name=TOKENS)
@example(models={"a": ["gpt-5"]}, harnesses={"a": ["hermes"]}, name="Hermes Agent")
@example(models={"a": ["gpt-5"]}, harnesses={}, name="GPT-5 Medium")
def test_any_aliases_keep_the_law(models: dict[str, list[str]], harnesses: dict[str, list[str]], name: str) -> None:
    try:
        names = Names({"models": models, "harnesses": harnesses})
    except InputError as error:
        assume("is given to both" not in str(error))
        raise
    assert names.model(names.model(name)) == names.model(name)
    assert names.harness(names.harness(name)) == names.harness(name)


def test_unknown_names_are_kept_and_counted() -> None:
    names = Names()
    assert [names.model(name) for name in ("New Model 9", "new-model-9", "gpt-5")] == ["new-model-9"] * 2 + ["gpt-5"]
    assert names.harness("My Agent") == "my-agent"
    assert names.unknown_models == {"new-model-9": 2}
    assert names.unknown_harnesses == {"my-agent": 1}
    assert not Names().unknown_models  # every Names counts for itself


def test_users_bring_aliases_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "aliases.toml"
    path.write_text(
        'providers = ["Acme Gateway"]\n'
        '[models]\n"Our Llama" = ["llama-ft-v3"]\n'
        '[harnesses]\nbuild-bot = ["Codex"]\n"HAL Generalist" = []\n',
        encoding="utf-8",
    )
    names = Names.from_toml(path)
    assert names.model("acme-gateway/GPT-5") == "gpt-5"
    assert names.model("LLAMA-FT-V3") == "our-llama"
    assert names.harness("Codex") == names.harness("codex-cli") == "build-bot"  # shipped aliases follow
    assert names.harness("HAL Generalist") == "hal-generalist"  # a user may tell apart what we hold for one
    assert {"our-llama", "gpt-5"} <= names.known_models
    assert "codex" not in names.known_harnesses
    assert not names.unknown_models
    assert canonical_harness("Codex") == "codex"  # and nobody else is touched


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[models", "is not a TOML file"),
        ('[model]\na = ["b"]', "no key 'model'; choose from providers, models, harnesses"),
        ('providers = "openai"', "providers must be a list of names"),
        ('models = ["a"]', "models must be a table"),
        ('[models]\na = "b"', "models.a must be a list of names, got 'b'"),
        ("[harnesses]\na = [1]", r"harnesses.a must be a list of names, got \[1\]"),
        ('[harnesses]\n"" = []', "harnesses. must be a list of names"),
        ('[models]\na = ["c"]\nb = ["C"]', "model 'c' is given to both 'a' and 'b'"),
    ],
)
def test_a_bad_alias_file_is_one_clear_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "aliases.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        Names.from_toml(path)
    assert str(path) in str(caught.value)


def test_an_alias_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        Names.from_toml(tmp_path / "missing.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(InputError, match="is not a TOML file"):
        Names.from_toml(tmp_path / "latin.toml")


def test_the_shipped_names_are_canonical_and_every_alias_is_needed() -> None:
    shipped, names = Aliases.shipped(), Names()
    assert {names.model(name) for name in shipped.models} == set(shipped.models)
    assert {names.harness(name) for name in shipped.harnesses} == set(shipped.harnesses)
    for forms, table in ((model_forms, shipped.models), (harness_forms, shipped.harnesses)):
        for name, spellings in table.items():
            assert name == forms(name)[-1]
            without_help = [forms(spelling)[-1].replace("-", "") for spelling in spellings]
            assert name.replace("-", "") not in without_help


def corpus_routes(benchmark: str) -> set[tuple[str, str]]:
    with (SHARED / "corpus" / benchmark / "outcomes.csv").open(encoding="utf-8", newline="") as file:
        return {(row["model"], row["harness"]) for row in csv.DictReader(file)}


@needs_corpus
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_corpus_keeps_its_routes(benchmark: str) -> None:
    names = Names()
    routes = corpus_routes(benchmark)
    assert {names.model(model) for model, _ in routes} == {model for model, _ in routes}
    assert len({(names.model(model), names.harness(harness)) for model, harness in routes}) == len(routes)
    assert not names.unknown_models
    assert not names.unknown_harnesses


@needs_paper
def test_the_papers_table_has_68_models_and_25_harnesses() -> None:
    text = PAPER.read_text(encoding="utf-8")
    table = text[text.index(r"\endlastfoot") : text.index(r"\end{longtable}")]
    models = set(re.findall(r"\\texttt\{([^}]*)\}", table))
    cells = [row.split(" & ")[1] for row in table.splitlines() if row.count(" & ") == 2]
    harnesses = {re.sub(r"\\citep\{[^}]*\}", "", cell).strip() for row in cells for cell in row.split(";")}
    names = Names()
    assert (len(models), len({names.model(model) for model in models})) == (73, 68)
    assert (len(harnesses), len({names.harness(harness) for harness in harnesses})) == (27, 25)
    assert not names.unknown_models
    assert not names.unknown_harnesses
