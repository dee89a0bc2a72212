"""What may be called, and whose word counts about a tool's effects."""

from __future__ import annotations

from itertools import product

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
TRUSTED = {
    NO_CLAIM: (False, False, False),
    READ_ONLY: (True, False, True),
    DESTRUCTIVE: (False, True, False),
    IDEMPOTENT: (False, False, True),
    # The protocol: what is read-only cannot destroy.
    BOTH: (True, False, True),
    Annotations(read_only=False, destructive=False, idempotent=False): (False, False, False),
}
"""What the claims of a trusted server say: read-only, destructive, repeatable."""


def tool(claims: Annotations = NO_CLAIM) -> Tool:
    return Tool(NAME, "s", "t", "A tool.", {"type": "object"}, annotations=claims)


def policy(*, trusted: bool = False, read_only: bool = False, destructive: bool = False) -> Policy:
    rules = {"read_only": ["mcp__s__*"] if read_only else [], "destructive": [NAME] if destructive else []}
    servers = {"s": {"command": "true", "trust_annotations": trusted}}
    return Policy(Config.from_mapping({"mcpServers": servers, "tools": rules}))


def judged(rules: Policy, claims: Annotations) -> tuple[bool, bool, bool]:
    one = tool(claims)
    return rules.is_read_only(one), rules.is_destructive(one), rules.is_repeatable(one)


@pytest.mark.parametrize(("trusted", "read_only", "destructive"), list(product([False, True], repeat=3)))
def test_the_users_word_is_above_a_servers_and_that_counts_only_if_it_is_trusted(
    *, trusted: bool, read_only: bool, destructive: bool
) -> None:
    rules = policy(trusted=trusted, read_only=read_only, destructive=destructive)
    for claims, believed in TRUSTED.items():
        expected = believed if trusted else (False, claims.destructive is True, False)
        if destructive:
            expected = (False, True, False)
        elif read_only:
            expected = (True, False, True)
        assert judged(rules, claims) == expected, claims


def test_the_trust_in_one_server_is_not_trust_in_another() -> None:
    other = Tool("mcp__other__t", "other", "t", "", {}, annotations=READ_ONLY)
    assert not policy(trusted=True).is_read_only(other)


def test_a_tool_is_admitted_unless_it_is_blocked_or_held() -> None:
    policy().admit(tool(), Snapshot(changed={NAME: ("description",)}), None)
    held = Snapshot(changed={NAME: ("description", "input schema")}, held=frozenset({NAME}))
    with pytest.raises(ToolHeldError, match=r"description and input.*`halflap trust --tool mcp__s__t`"):
        policy().admit(tool(), held, None)
    blocking = Policy(Config.from_mapping({"servers": [], "tools": {"block": [NAME]}}))
    with pytest.raises(ToolBlockedError, match=r"`tools\.block: mcp__s__t`"):
        blocking.admit(tool(), held, None)
