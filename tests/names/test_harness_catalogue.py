import csv
import os
from collections import Counter
from pathlib import Path

import pytest

from hmrouter.errors import InputError
from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.names import Names, canonical_harness

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
OUTCOMES = sorted(SHARED.glob("corpus/*/outcomes.csv"))

PAPER_FAMILIES = {
    "terminal-cli": {"Claude Code", "Codex", "Gemini CLI", "OpenCode", "Terminus 2"},
    "personal-assistant": {
        "Hermes", "OpenClaw", "openclaw-local", "moltis-local", "nanobot", "nullclaw", "zeroclaw-local",
    },
    "swe-scaffold": {"OpenHands", "SWE-agent", "Tools"},
    "web-agent": {"Browser-Use", "SeeAct", "HF Open Deep Research"},
}  # fmt: skip
PAPER_OTHERS = {
    "CORE-Agent", "DeepAgent", "HAL Generalist", "SAB Self-Debug", "SciCode Tool Calling Agent",
    "SciCode Zero Shot Agent", "Taubench ToolCalling",
}  # fmt: skip


def test_exactly_the_known_harnesses_are_described() -> None:
    assert HarnessDescriptions().known() == Names().known_harnesses


def test_the_papers_harnesses_have_their_family() -> None:
    catalogue = HarnessDescriptions()
    assert {family: {catalogue.family(name) for name in names} for family, names in PAPER_FAMILIES.items()} == {
        family: {family} for family in PAPER_FAMILIES
    }
    assert {catalogue.family(name) for name in PAPER_OTHERS} == {"generalist", "benchmark-specific"}
    assert len(set().union(*PAPER_FAMILIES.values())) == 18
    assert len(set().union(PAPER_OTHERS, *PAPER_FAMILIES.values())) == 25


@pytest.mark.skipif(not OUTCOMES, reason=f"no corpus in {SHARED}; set HMROUTER_SHARED_DATA")
def test_the_corpus_harnesses_are_described() -> None:
    harnesses = set()
    for path in OUTCOMES:
        with path.open(encoding="utf-8", newline="") as file:
            harnesses |= {canonical_harness(row["harness"]) for row in csv.DictReader(file)}
    assert not harnesses - HarnessDescriptions().known()


def test_descriptions_are_short_plain_and_all_different() -> None:
    catalogue = HarnessDescriptions()
    texts = {name: catalogue.text(name) for name in catalogue.known()}
    assert [text for text, count in Counter(texts.values()).items() if count > 1] == []
    for name, text in texts.items():
        assert text.isascii(), name
        assert 120 <= len(text) <= 420, (name, len(text))
        assert 2 <= text.count(". ") + 1 <= 3, name
        assert text.endswith(".")
        assert "  " not in text
        assert catalogue.family(name) in {*PAPER_FAMILIES, "generalist", "benchmark-specific"}


def test_any_spelling_finds_the_description_and_a_stranger_gets_its_name() -> None:
    catalogue = HarnessDescriptions()
    assert catalogue.text("HAL Generalist") == catalogue.text("hal-generalist-agent") != "hal-generalist-agent"
    assert catalogue.text("My Agent") == "My Agent"
    assert catalogue.family("My Agent") is None
    assert "my-agent" not in catalogue.known()


def test_additions_win_over_the_catalogue(tmp_path: Path) -> None:
    given = HarnessDescriptions({"My Agent": "One loop.", "codex": "Ours."})
    path = tmp_path / "harnesses.toml"
    path.write_text(
        '["My Agent"]\ntext = """\nOne\n  loop."""\nfamily = "terminal-cli"\n[codex]\ntext = "Ours."\n',
        encoding="utf-8",
    )
    read = HarnessDescriptions.from_toml(path)
    for catalogue in (given, read):
        assert catalogue.text("my_agent") == "One loop."
        assert catalogue.text("Codex") == "Ours."
        assert catalogue.text("Claude Code") == HarnessDescriptions().text("Claude Code")
        assert {"my-agent", "codex"} <= catalogue.known()
    assert (given.family("my-agent"), read.family("my-agent")) == (None, "terminal-cli")
    assert HarnessDescriptions().text("codex") != "Ours."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[bot", "is not a TOML file"),
        ('bot = "a loop"', r"bot must be a table like \[bot\] with a text, got 'a loop'"),
        ('[bot]\ntext = "a loop"\nurl = "x"', "harness 'bot' has no key 'url'; choose from text, family"),
        ('[bot]\nfamily = "web-agent"', "harness 'bot' needs a text"),
        ('[bot]\ntext = " "', "harness 'bot' needs a text"),
        ('[bot]\ntext = "a loop"\nfamily = 3', "text and family must be strings"),
        ('[bot]\ntext = "a"\n[Bot]\ntext = "b"', "'bot' is described twice, the second time as 'Bot'"),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "harnesses.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        HarnessDescriptions.from_toml(path)
    assert str(path) in str(caught.value)
