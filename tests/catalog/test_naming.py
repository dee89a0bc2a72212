from __future__ import annotations

import keyword
import re

from hypothesis import given
from hypothesis import strategies as st

from halflap.catalog.listing import MAX_NAME, choose_name, namespaced

TEXTS = st.text(st.characters(codec=None), max_size=20)
# Few letters, so that names collide all the time.
CLOSE = st.text("a-_.é ", max_size=4)
PAIRS = st.lists(st.tuples(CLOSE, CLOSE), unique=True, max_size=25)

Names = dict[str, tuple[str, str]]


def name_all(pairs: list[tuple[str, str]], taken: Names | None = None) -> Names:
    names = dict(taken or {})
    for server, tool in pairs:
        names[choose_name(server, tool, names)] = (server, tool)
    return names


@given(TEXTS, TEXTS)
def test_every_name_is_an_identifier(server: str, tool: str) -> None:
    plain = choose_name(server, tool, {})
    suffixed = choose_name(server, tool, {plain: ("another", "tool")})
    assert namespaced("my-server.v2", "größe/x 🎉") == "mcp__my_server_v2__gr__e_x__"
    for name in (plain, suffixed):
        assert re.fullmatch(r"mcp__[A-Za-z0-9_]+", name, re.ASCII)
        assert name.isidentifier()
        assert not keyword.iskeyword(name)


@given(PAIRS)
def test_no_two_tools_share_a_name(pairs: list[tuple[str, str]]) -> None:
    assert len(name_all(pairs)) == len(pairs)


@given(PAIRS, PAIRS)
def test_further_tools_rename_nothing(first: list[tuple[str, str]], more: list[tuple[str, str]]) -> None:
    before = name_all(first)
    after = name_all([pair for pair in more if pair not in first], before)
    assert {name: after[name] for name in before} == before


@given(PAIRS)
def test_a_tool_gets_its_own_name_again(pairs: list[tuple[str, str]]) -> None:
    names = name_all(pairs)
    assert name_all(list(names.values()), names) == names


def test_a_long_name_is_cut_and_made_unique_by_its_digest() -> None:
    one, other = (choose_name("s", "n" * 1_000_000 + last, {}) for last in "ab")
    assert len(one) == len(other) == MAX_NAME
    assert one != other
    assert one.startswith("mcp__s__nnn")
