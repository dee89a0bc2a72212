"""Variables and env files."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halflap.config.expand import ExpansionError, Scope, expand, read_env_lines

SCOPE = Scope(
    {"NAME": "value", "EMPTY": "", "NESTED": "${NAME}", "workspaceFolder": "no"},
    Path("/projects/here"),
    Path("/home/me"),
    Path("/projects/here"),
)


@given(st.text())
def test_an_escaped_text_comes_out_as_it_was(text: str) -> None:
    assume("$${" not in text and not text.startswith("{"))
    assert expand(text.replace("${", "$${"), SCOPE) == (text, [])


@given(st.text(st.sampled_from("${}:-aN_ "), max_size=30))
def test_no_text_makes_the_expansion_crash(text: str) -> None:
    with suppress(ExpansionError):
        expand(text, SCOPE)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("a ${NAME} b", "a value b"),
        ("${env:NAME}", "value"),
        ("${UNSET:-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${UNSET:-a:-b c/$X}", "a:-b c/$X"),
        ("${NESTED}", "${NAME}"),
        ("$${NAME}", "${NAME}"),
        ("$NAME $$ $", "$NAME $$ $"),
        ("${workspaceFolder}/x", "/projects/here/x"),
        ("${userHome}/x", "/home/me/x"),
    ],
)
def test_each_form_is_expanded(text: str, expanded: str) -> None:
    assert expand(text, SCOPE)[0] == expanded


def test_variables_that_become_nothing_are_named() -> None:
    assert expand("${EMPTY} ${env:UNSET:-} ${NAME} ${UNSET:-x}", SCOPE)[1] == ["EMPTY", "UNSET"]


@pytest.mark.parametrize("text", ["${a b}", "${}", "${A:?b}", "x ${NAME"])
def test_an_invalid_reference_suggests_how_to_escape_it(text: str) -> None:
    with pytest.raises(ExpansionError, match=r"\$\$\{"):
        expand(text, SCOPE)


ENV_FILE = """\
# one

A=1
export B = two words # note
C='a # b' # note
D="x'y"\r
E=
F=a#b
G=a=b
H=${A}
I= # none
"""


def test_an_env_file_has_comments_quotes_and_exports() -> None:
    values = {"A": "1", "B": "two words", "C": "a # b", "D": "x'y", "E": "", "F": "a#b", "G": "a=b"}
    assert read_env_lines(ENV_FILE) == ({**values, "H": "${A}", "I": ""}, [])


@pytest.mark.parametrize("line", ["hunter2", "A='hunter2", "=hunter2", "A='x' hunter2", "1A=hunter2"])
def test_an_invalid_line_of_an_env_file_is_reported(line: str) -> None:
    assert read_env_lines(f"A=1\n{line}\n") == ({"A": "1"}, [2])
