"""Variables and env files."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halflap.config.expand import ExpansionError, Scope, expand, read_env_file

SCOPE = Scope(
    {"NAME": "value", "EMPTY": "", "NESTED": "${NAME}", "workspaceFolder": "no"},
    Path("/projects/here"),
    Path("/home/me"),
    Path("/projects/here"),
)


@given(st.text())
def test_an_escaped_text_comes_out_as_it_was(text: str) -> None:
    assume("$${" not in text and not text.startswith("{"))
    assert expand(text.replace("${", "$${"), SCOPE) == text


@given(st.text(st.sampled_from("${}:-aN_ "), max_size=30))
def test_no_text_makes_the_expansion_crash(text: str) -> None:
    with suppress(ExpansionError):
        expand(text, SCOPE)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("a ${NAME} b", "a value b"),
        ("${env:NAME}", "value"),
        ("${NAME}${NAME}", "valuevalue"),
        ("${UNSET:-other}", "other"),
        ("${UNSET:-}", ""),
        ("${NAME:-other}", "value"),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("${UNSET:-a:-b c/$X}", "a:-b c/$X"),
        ("${UNSET:-${NAME}}", "${NAME}"),
        ("${NESTED}", "${NAME}"),
        ("$${NAME}", "${NAME}"),
        ("$NAME $$ $", "$NAME $$ $"),
        ("${workspaceFolder}/x", "/projects/here/x"),
        ("${userHome}/x", "/home/me/x"),
    ],
)
def test_each_form_is_expanded(text: str, expanded: str) -> None:
    assert expand(text, SCOPE) == expanded


@pytest.mark.parametrize("text", ["${a b}", "${}", "${A-b}", "${A:?b}", "${1}", "x ${NAME"])
def test_an_invalid_reference_suggests_how_to_escape_it(text: str) -> None:
    with pytest.raises(ExpansionError) as caught:
        expand(text, SCOPE)
    assert "$${" in caught.value.suggestion


def test_an_env_file_is_read_with_comments_quotes_and_exports(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(
        "# one\n\nA=1\nexport B = two words # note\nC='a # b' # note\nD=\"x'y\"\r\nE=\nF=a#b\nG=a=b\nH=${A}\nI= # none\n"
    )
    variables, problems = read_env_file(path)
    assert not problems.found
    assert variables == {
        "A": "1",
        "B": "two words",
        "C": "a # b",
        "D": "x'y",
        "E": "",
        "F": "a#b",
        "G": "a=b",
        "H": "${A}",
        "I": "",
    }


@pytest.mark.parametrize("line", ["hunter2", "A='hunter2", "=hunter2", "A='x' hunter2", "1A=hunter2"])
def test_an_invalid_line_of_an_env_file_is_reported_without_its_text(tmp_path: Path, line: str) -> None:
    path = tmp_path / ".env"
    path.write_text(f"A=1\n{line}\n")
    (problem,) = read_env_file(path)[1].found
    assert problem.line == 2
    assert "hunter2" not in str(problem)
