"""Pool files, and the rules that narrow a pool."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.decide.pool import parse_pool, read_pool, select
from hmrouter.errors import HMRouterError, InputError, NoRoute, UnknownName, UsageError
from hmrouter.types import Route

GPT_CODEX, GPT_AIDER = Route("gpt-5", "codex"), Route("gpt-5", "aider")
OPUS_CODEX, OPUS_CLAUDE = Route("claude-opus-4-5", "codex"), Route("claude-opus-4-5", "claude-code")
POOL = (GPT_CODEX, GPT_AIDER, OPUS_CODEX, OPUS_CLAUDE)


def test_a_list_of_routes(tmp_path: Path) -> None:
    (tmp_path / "pool.toml").write_text(
        'routes = ["codex:gpt-5", "Claude Code:anthropic/claude-opus-4.5", "Codex:GPT-5"]\n'
    )
    assert read_pool(tmp_path / "pool.toml") == (GPT_CODEX, OPUS_CLAUDE)  # one spelling each, in the order of the file


def test_a_product_without_exceptions_and_more_routes() -> None:
    content = {
        "routes": ["claude-code:claude-opus-4-5", "codex:qwen3:8b"],
        "models": ["gpt-5", "claude-opus-4-5"],
        "harnesses": ["codex", "aider"],
        "except": ["aider:claude-opus-4-5"],
    }
    pool = parse_pool(content)
    assert set(pool) == {OPUS_CLAUDE, GPT_CODEX, GPT_AIDER, OPUS_CODEX, Route("qwen-3:8b", "codex")}
    assert len(pool) == 5


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "the pool is empty; give 'routes', or 'models' and 'harnesses'"),
        ("routes = []", "the pool is empty"),
        ('models = ["gpt-5"]\nharnesses = ["codex"]\nexcept = ["codex:gpt-5"]', "the pool is empty"),
        ('models = ["gpt-5"]', "'models' and 'harnesses' go together: the pool is their product"),
        ('route = ["codex:gpt-5"]', "key 'route' is not in a pool file; did you mean 'routes'?"),
        ('routes = "codex:gpt-5"', "'routes' must be a list of strings"),
        ("routes = [1]", "'routes' must be a list of strings"),
        ('routes = ["codex"]', "'codex' is not a route; write harness:model"),
        ('models = [" "]\nharnesses = ["codex"]', "a route needs a model and a harness"),
        ('routes = ["codex:gpt-5"]\nexcept = ["codex:gtp-5"]', "cannot be excepted; did you mean 'codex:gpt-5'?"),
        ("routes = [", "is not a TOML file"),
        ("\xff", "is not a TOML file"),
    ],
)
def test_a_pool_file_that_is_wrong(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "pool.toml").write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError) as refused:
        read_pool(tmp_path / "pool.toml")
    assert str(refused.value).startswith(f"the pool file {tmp_path / 'pool.toml'}")
    assert says in str(refused.value)


def test_a_pool_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read the pool file .*: No such file or directory"):
        read_pool(tmp_path / "pool.toml")


@pytest.mark.parametrize(
    ("allow", "deny", "left"),
    [
        ([], [], POOL),
        (["model=gpt-5"], [], (GPT_CODEX, GPT_AIDER)),
        (["model=gpt-5", "model=claude-opus-4-5"], [], POOL),  # one kind adds up
        (["model=gpt-5,claude-opus-4-5", "harness=codex"], [], (GPT_CODEX, OPUS_CODEX)),  # kinds must all hold
        (["aider:gpt-5", "codex:claude-opus-4-5"], [], (GPT_AIDER, OPUS_CODEX)),
        (["aider:gpt-5", "harness=codex,aider"], [], (GPT_AIDER,)),
        ([], ["harness=codex"], (GPT_AIDER, OPUS_CLAUDE)),
        (["model=gpt-5"], ["harness=aider"], (GPT_CODEX,)),
        (["codex:gpt-5", "aider:gpt-5"], ["aider:gpt-5"], (GPT_CODEX,)),  # deny wins
        (["model=openai/GPT-5"], ["harness = Aider"], (GPT_CODEX,)),  # any spelling
    ],
)
def test_rules(allow: list[str], deny: list[str], left: tuple[Route, ...]) -> None:
    assert select(POOL, allow, deny) == left


def test_names_that_are_not_canonical_can_be_named() -> None:
    own = Route("My Model", "Our Harness")
    for rule in ("model=My Model", "harness=Our Harness", "Our Harness:My Model"):
        assert select([own, GPT_CODEX], [rule]) == (own,)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("model=gtp-5", "model 'gtp-5' is not in the pool; did you mean 'gpt-5'?"),
        ("harness=aide", "harness 'aide' is not in the pool; did you mean 'aider'?"),
        ("aider:claude-opus-4-5", "route 'aider:claude-opus-4-5' is not in the pool; did you mean"),
    ],
)
def test_an_unknown_name_is_refused_with_a_suggestion(rule: str, says: str) -> None:
    for kind in ("allow", "deny"):
        with pytest.raises(UnknownName) as refused:
            select(POOL, **{kind: [rule]})
        assert says in str(refused.value)


@pytest.mark.parametrize("rule", ["", "codex", "model=", "model= , ", "models=gpt-5", "=gpt-5", ":gpt-5", "codex:"])
def test_what_is_not_a_rule(rule: str) -> None:
    with pytest.raises(UsageError, match="is not a rule; write model=NAME, harness=NAME,NAME or harness:model"):
        select(POOL, [rule])


def test_nothing_left_and_nothing_there() -> None:
    with pytest.raises(NoRoute, match="none of the 4 routes of the pool is left by the allow and deny rules; loosen"):
        select(POOL, ["model=gpt-5"], ["harness=aider,codex"])
    with pytest.raises(NoRoute, match="the pool is empty; give at least one route"):
        select([], ["model=gpt-5"])


RULES = st.sampled_from(
    [f"{kind}={getattr(r, kind)}" for r in POOL for kind in ("model", "harness")] + [str(r) for r in POOL]
)


@given(allow=st.lists(RULES, max_size=4), deny=st.lists(RULES, max_size=3))
def test_rules_only_narrow(allow: list[str], deny: list[str]) -> None:
    try:
        left = select(POOL, allow, deny)
    except HMRouterError:
        return
    assert [r for r in POOL if r in left] == list(left)  # a part of the pool in its order
    for route in left:
        names = {f"model={route.model}", f"harness={route.harness}", str(route)}
        assert not names & set(deny)
        assert not allow or names & set(allow)
    without_deny = select(POOL, allow)
    assert set(left) <= set(without_deny)
    assert select(left, [], []) == left
