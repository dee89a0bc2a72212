from __future__ import annotations

import pytest

from halflap.calls import Policy
from halflap.catalog import Snapshot
from halflap.config import Config
from halflap.core.errors import ToolBlockedError, ToolHeldError
from halflap.core.values import Annotations, Tool

NAME = "mcp__s__t"
NO_CLAIM = Annotations()
READ_ONLY = Annotations(read_only=True)
DESTRUCTIVE = Annotations(destructive=True)
IDEMPOTENT = Annotations(idempotent=True)
BOTH = Annotations(read_only=True, destructive=True)


def tool(claims: Annotations = NO_CLAIM) -> Tool:
    return Tool(NAME, "s", "t", "A tool.", {"type": "object"}, annotations=claims)


def policy(*, trusted: bool = False, read_only: bool = False, destructive: bool = False) -> Policy:
    rules = {"read_only": ["mcp__s__*"] if read_only else [], "destructive": [NAME] if destructive else []}
    servers = {"s": {"command": "true", "trust_annotations": trusted}}
    return Policy(Config.from_mapping({"mcpServers": servers, "tools": rules}))


@pytest.mark.parametrize("claims", [NO_CLAIM, READ_ONLY, DESTRUCTIVE, IDEMPOTENT, BOTH])
def test_of_a_server_that_is_not_trusted_only_the_claim_to_destroy_counts(claims: Annotations) -> None:
    rules, one = policy(), tool(claims)
    assert not rules.is_read_only(one)
    assert rules.is_destructive(one) == (claims.destructive is True)
    assert not rules.is_repeatable(one)


@pytest.mark.parametrize(
    ("claims", "read_only", "destructive", "repeatable"),
    [
        (NO_CLAIM, False, False, False),
        (READ_ONLY, True, False, True),
        (DESTRUCTIVE, False, True, False),
        (IDEMPOTENT, False, False, True),
        # The protocol: what is read-only cannot destroy.
        (BOTH, True, False, True),
        (Annotations(read_only=False, destructive=False, idempotent=False), False, False, False),
    ],
)
def test_the_claims_of_a_trusted_server_count(
    claims: Annotations, *, read_only: bool, destructive: bool, repeatable: bool
) -> None:
    rules, one = policy(trusted=True), tool(claims)
    assert rules.is_read_only(one) == read_only
    assert rules.is_destructive(one) == destructive
    assert rules.is_repeatable(one) == repeatable


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("claims", [NO_CLAIM, READ_ONLY, DESTRUCTIVE, IDEMPOTENT, BOTH])
def test_what_the_user_calls_read_only_is(claims: Annotations, *, trusted: bool) -> None:
    rules, one = policy(trusted=trusted, read_only=True), tool(claims)
    assert (rules.is_read_only(one), rules.is_destructive(one), rules.is_repeatable(one)) == (
        True,
        False,
        True,
    )


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("claims", [NO_CLAIM, READ_ONLY, DESTRUCTIVE, IDEMPOTENT, BOTH])
def test_what_the_user_calls_destructive_is_above_all(
    claims: Annotations, *, trusted: bool, read_only: bool
) -> None:
    rules, one = policy(trusted=trusted, read_only=read_only, destructive=True), tool(claims)
    assert (rules.is_read_only(one), rules.is_destructive(one), rules.is_repeatable(one)) == (
        False,
        True,
        False,
    )


def test_the_trust_in_one_server_is_not_trust_in_another() -> None:
    other = Tool("mcp__other__t", "other", "t", "", {}, annotations=READ_ONLY)
    assert not policy(trusted=True).is_read_only(other)


def test_a_tool_that_nothing_speaks_against_is_admitted() -> None:
    policy().admit(tool(), Snapshot(tools={NAME: tool()}))


def test_a_blocked_tool_is_refused_with_the_rule() -> None:
    with pytest.raises(ToolBlockedError, match=r"`tools\.block: mcp__s__\*`"):
        policy().admit(tool(), Snapshot(blocked={NAME: "`tools.block: mcp__s__*`"}))


def test_a_held_tool_is_refused_with_what_changed_and_what_to_do() -> None:
    snapshot = Snapshot(changed={NAME: ("description", "input schema")}, held=frozenset({NAME}))
    with pytest.raises(
        ToolHeldError,
        match=r"its description, input schema changed since it was accepted.*`halflap trust --tool mcp__s__t`",
    ):
        policy().admit(tool(), snapshot)


def test_a_tool_that_changed_but_is_not_held_is_admitted() -> None:
    policy().admit(tool(), Snapshot(changed={NAME: ("description",)}))


def test_a_tool_that_is_blocked_and_held_is_refused_as_blocked() -> None:
    with pytest.raises(ToolBlockedError):
        policy().admit(tool(), Snapshot(blocked={NAME: "`tools.allow`"}, held=frozenset({NAME})))
