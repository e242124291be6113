"""What drivers know without running anything: names of models, keys, commands, permissions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.errors import HarnessError, HMRouterError, InputError, UnknownName
from hmrouter.names import canonical_harness
from hmrouter.run.drivers import DRIVERS, all_drivers, driver_for
from hmrouter.run.drivers.base import Driver, Job, Needs
from hmrouter.run.drivers.template import TemplateDriver
from hmrouter.run.secrets import environment_for, masker

JobOf = Callable[..., Job]

KEYS = {
    "ANTHROPIC_API_KEY": "anthropic-key", "OPENAI_API_KEY": "openai-key", "COPILOT_GITHUB_TOKEN": "github-token",
    "KIMI_MODEL_API_KEY": "kimi-key", "LLM_API_KEY": "llm-key", "CLINE_API_KEY": "cline-key",
}  # fmt: skip
OWN = "http://localhost:8000/v1"
ADDRESSES = {
    "claude-code": "ANTHROPIC_BASE_URL", "codex": "OPENAI_BASE_URL", "copilot-cli": "COPILOT_PROVIDER_BASE_URL",
    "kimi-cli": "KIMI_MODEL_BASE_URL", "mini-swe-agent": "OPENAI_API_BASE", "opencode": "OPENAI_BASE_URL",
    "openhands": "LLM_BASE_URL", "qwen-coder": "OPENAI_BASE_URL", "cline-cli": "CLINE_PROVIDER",
}  # fmt: skip
"""The variable by which each harness has models of the user's own."""
NAMES = sorted(ADDRESSES)


def words(driver: Driver, job: Job) -> str:
    """The command, with the order of our own client unpacked."""
    argv = driver.command(job).argv
    return " ".join(json.loads(argv[-1])["agent"] if driver.transport == "acp" else argv)


def test_the_registry_has_every_driver_under_its_canonical_name() -> None:
    assert DRIVERS.names() == NAMES
    for name, driver in all_drivers(environ={}).items():
        assert driver.name == name == canonical_harness(name)
        assert driver.install
        assert driver.get_key


def test_an_unknown_harness_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName) as refused:
        driver_for("codexx", environ={})
    assert set(NAMES) == set(refused.value.valid)
    assert driver_for("codex", environ={}).name == "codex"


@pytest.mark.parametrize(
    ("harness", "model", "spelled"),
    [
        ("claude-code", "claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-code", "claude-sonnet-3-7", "claude-3-7-sonnet-latest"),
        ("claude-code", "claude-opus-4-5-high", "claude-opus-4-5"),
        ("claude-code", "gpt-5", None),
        ("codex", "gpt-5-1-codex-max", "gpt-5.1-codex-max"),
        ("codex", "gpt-5-high", "gpt-5"),
        ("codex", "claude-sonnet-4-5", None),
        ("copilot-cli", "claude-sonnet-4-5", "claude-sonnet-4.5"),
        ("copilot-cli", "gpt-5-2", "gpt-5.2"),
        ("copilot-cli", "our-own", None),
        ("kimi-cli", "kimi-k2-5", "kimi-k2.5"),
        ("mini-swe-agent", "claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("mini-swe-agent", "gemini-2-5-pro", "gemini/gemini-2.5-pro"),
        ("mini-swe-agent", "gpt-5-high", None),  # it has no effort to ask for
        ("opencode", "gemini-2-5-pro", "google/gemini-2.5-pro"),
        ("openhands", "gpt-5", "openai/gpt-5"),
        ("qwen-coder", "gpt-5", "gpt-5"),
        ("qwen-coder", "our-own", None),
    ],
)
def test_models_are_spelled_as_the_harness_wants_them(harness: str, model: str, spelled: str | None) -> None:
    assert driver_for(harness, environ={}).spelling(model) == spelled


@pytest.mark.parametrize("harness", NAMES)
def test_at_an_address_of_the_users_own_any_model_goes(harness: str) -> None:
    spelled = driver_for(harness, environ={ADDRESSES[harness]: OWN}).spelling("our-own")
    assert spelled is not None
    assert spelled.rpartition("/")[2] == "our-own"


def test_a_service_that_was_asked_knows_its_spellings_best() -> None:
    driver = driver_for("qwen-coder", environ={"OPENAI_BASE_URL": OWN})
    assert driver.spelling("qwen-3-coder-plus") == "qwen-3-coder-plus"
    driver.learn(["qwen3-coder-plus-2025-09-23", "Qwen3-Coder-Plus"])
    assert driver.spelling("qwen-3-coder-plus") == "Qwen3-Coder-Plus"
    other = driver_for("openhands", environ={"LLM_BASE_URL": OWN})
    other.learn(["Qwen3-Coder-Plus"])
    assert other.spelling("qwen-3-coder-plus") == "openai/Qwen3-Coder-Plus"


@pytest.mark.parametrize("harness", NAMES)
def test_no_key_is_in_a_command_and_each_harness_gets_only_its_own(harness: str, job: JobOf) -> None:
    environ = KEYS | {
        ADDRESSES[harness]: OWN,
        "PATH": "/bin",
        "AWS_SECRET_ACCESS_KEY": "cloud",
        "DATABASE_PASSWORD": "p",
    }
    driver = driver_for(harness, environ=environ)
    command = driver.command(job(f"{harness}:our-own", bypass=True))
    assert not [word for word in command.argv for key in KEYS.values() if key in word]
    env = environment_for(driver.needs(), environ, command.env)
    assert env["PATH"] == "/bin"
    assert env[ADDRESSES[harness]] == OWN
    secrets = set(KEYS) & set(env)
    assert secrets == set(driver.needs().keys) & set(KEYS)
    assert not {"AWS_SECRET_ACCESS_KEY", "DATABASE_PASSWORD"} & set(env)


@pytest.mark.parametrize("harness", NAMES)
def test_nothing_is_bypassed_without_the_users_word(harness: str, job: JobOf) -> None:
    driver = driver_for(harness, environ=KEYS | {ADDRESSES[harness]: OWN})
    flags = ("--dangerously", "--yolo", "--auto", "-y", "--allow-all", "--always-approve")
    if driver.only_bypassed:
        with pytest.raises(HarnessError) as refused:
            driver.command(job(f"{harness}:our-own"))
        assert refused.value.argument == "bypass"
        return
    careful = driver.command(job(f"{harness}:our-own"))
    assert not [word for word in careful.argv if word.startswith(flags)]
    assert "IS_SANDBOX" not in careful.env
    assert driver.command(job(f"{harness}:our-own", bypass=True)) != careful


@pytest.mark.parametrize("harness", NAMES)
@pytest.mark.parametrize("prompt", ["--help", "two  spaces\nand a line", "-"])
def test_a_prompt_reaches_the_harness_as_it_is_written(harness: str, prompt: str, job: JobOf) -> None:
    driver = driver_for(harness, environ=KEYS | {ADDRESSES[harness]: OWN})
    argv = driver.command(job(f"{harness}:our-own", prompt=prompt, bypass=True)).argv
    if driver.transport == "acp":
        assert json.loads(argv[-1])["prompt"] == prompt
    elif "--" in argv:
        assert " ".join(argv[argv.index("--") + 1 :]) == prompt
    else:
        assert argv[-1] == f"--task={prompt}"


def test_the_effort_is_asked_for_in_each_harnesss_own_way(job: JobOf) -> None:
    def asked(harness: str, model: str, **more: Any) -> str:
        return words(driver_for(harness, environ=KEYS), job(f"{harness}:{model}", **more))

    assert "--effort high" in asked("claude-code", "claude-opus-4-5", effort="high")
    assert '-c model_reasoning_effort="high"' in asked("codex", "gpt-5-high")
    assert "-m gpt-5 " in asked("codex", "gpt-5-high")
    assert "--reasoning-effort low" in asked("copilot-cli", "gpt-5", effort="low")
    assert "--variant high" in asked("opencode", "gpt-5-high")
    assert "reasoning_effort" not in asked("codex", "gpt-5")
    with pytest.raises(HarnessError) as refused:
        asked("qwen-coder", "gpt-5", effort="high")
    assert (refused.value.argument, refused.value.value) == ("effort", "high")


def test_limits_are_passed_on_where_the_harness_has_them(job: JobOf) -> None:
    command = words(
        driver_for("claude-code", environ=KEYS), job("claude-code:claude-opus-4-5", max_dollars=0.5, max_turns=7)
    )
    assert "--max-budget-usd 0.500000 --max-turns 7" in command
    assert "fallback" not in command


def test_a_model_that_the_harness_does_not_run_is_refused(job: JobOf) -> None:
    with pytest.raises(HarnessError, match="claude-code does not run the model 'gpt-5'"):
        driver_for("claude-code", environ=KEYS).command(job("claude-code:gpt-5"))


def test_codex_uses_a_key_for_one_run_unless_somebody_signed_in(job: JobOf, tmp_path: Path) -> None:
    environ = KEYS | {"HOME": str(tmp_path)}
    assert driver_for("codex", environ=environ).command(job("codex:gpt-5")).env == {"CODEX_API_KEY": "openai-key"}
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "auth.json").write_text("{}")
    assert driver_for("codex", environ=environ).command(job("codex:gpt-5")).env == {}


def test_openhands_takes_the_key_of_the_models_maker(job: JobOf) -> None:
    driver = driver_for("openhands", environ={"ANTHROPIC_API_KEY": "anthropic-key"})
    env = driver.command(job("openhands:claude-sonnet-4-5", bypass=True)).env
    assert (env["LLM_API_KEY"], env["LLM_MODEL"]) == ("anthropic-key", "anthropic/claude-sonnet-4-5")


def test_opencode_keeps_the_users_own_configuration(job: JobOf) -> None:
    environ = KEYS | {"OPENCODE_CONFIG_CONTENT": '{"theme": "dark", "share": "auto"}'}
    env = driver_for("opencode", environ=environ).command(job("opencode:gpt-5")).env
    config = json.loads(env["OPENCODE_CONFIG_CONTENT"])
    assert (config["theme"], config["share"], config["permission"]["bash"]) == ("dark", "disabled", "deny")


# -- needs and secrets ------------------------------------------------------------------------------------------------


def test_a_key_or_a_sign_in_is_enough(tmp_path: Path) -> None:
    needs = Needs(("A_KEY", "B_KEY"), sign_in=(tmp_path / "login",))
    assert not needs.met({"A_KEY": ""})
    assert needs.met({"B_KEY": "x"})
    (tmp_path / "login").touch()
    assert needs.met({})
    assert Needs(()).met({})


def test_every_spelling_of_a_secret_is_masked() -> None:
    mask = masker({"A_KEY": 'se"cret/1', "B_TOKEN": 'se"cret/123', "SHORT_KEY": "k", "PATH": "/usr/bin"})
    assert mask('se"cret/1 se\\"cret/1 se%22cret%2F1') == "[A_KEY] [A_KEY] [A_KEY]"
    assert mask('se"cret/123 k /usr/bin') == "[B_TOKEN] k /usr/bin"
    assert mask("Authorization: Bearer abcdefghijklmnopqrstuvwxyz") == "Authorization: Bearer [key]"
    assert masker({})(f"ghp_{'a' * 36}") == "[key]"


# -- templates --------------------------------------------------------------------------------------------------------

PLAIN = {"name": "mine", "command": ["mine", "{prompt}"]}


def test_placeholders_are_filled_once(job: JobOf) -> None:
    table = PLAIN | {
        "command": ["mine", "-m", "{model}", "{prompt}", "{unknown}", "{"], "env": {"OUT": "{output}/x"},
        "effort": ["-e", "{effort}"], "bypassed": ["--all"], "models": {"GPT-5": "openai/gpt-5"},
    }  # fmt: skip
    driver = TemplateDriver(table, {})
    asked = job("mine:gpt-5-high", prompt="say {model}", bypass=True)
    command = driver.command(asked)
    expected = ("mine", "-m", "openai/gpt-5", "say {model}", "{unknown}", "{", "-e", "high", "--all")
    assert command.argv == expected
    assert command.env == {"OUT": f"{asked.output}/x"}
    assert TemplateDriver(PLAIN | {"any_model": ""}, {}).spelling("gpt-5") is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"nmae": "x"}, "'nmae'"),
        ({"command": "mine"}, "command must be a list"),
        ({"command": [1]}, "texts only"),
        ({"command": []}, "needs the key 'command'"),
        ({"env": {"A": 1}}, "texts only"),
        ({"read": {"token": "x"}}, "'token'"),
        ({"read": {"adds_up": "yes"}}, "read.adds_up must be a bool"),
        ({"read": {"error_text": "("}}, "not a regular expression"),
        ({"read": {"cost_basis": "free"}}, "'list' or 'billed'"),
    ],
)
def test_a_wrong_file_is_refused_with_the_key(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        TemplateDriver(PLAIN | wrong, {})
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n')
    with pytest.raises(HMRouterError, match=r"mine\.toml.*needs the key 'command'"):
        TemplateDriver.from_toml(path)


def test_a_file_takes_the_place_of_a_built_in_driver(tmp_path: Path) -> None:
    path = tmp_path / "codex.toml"
    path.write_text('name = "Codex CLI"\ncommand = ["my-codex", "{prompt}"]\n')
    assert driver_for("codex", [path]).program == "my-codex"
