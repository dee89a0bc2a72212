"""What an examination tells of a program, and that the program has no say in how it is examined."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from execution.check.room import Room

STUBS = """\
from typing import TypedDict
class Sales(TypedDict):
    totalRevenue: int
async def mcp__shop__sales(*, region: str) -> Sales: ...
"""


def rules(room: Room, code: str, stubs: str = "") -> list[str]:
    return [diagnostic.rule for diagnostic in room.diagnostics(code, stubs)]


def test_a_good_program_has_no_diagnostics(room: Room) -> None:
    code = "sales = await mcp__shop__sales(region='EU')\nprint(sales['totalRevenue'] + 1)\n"
    examined = room.examine(code, STUBS)
    assert examined.facts["syntax_error"] is None
    assert examined.diagnostics == ()


def test_a_diagnostic_says_where_and_what(room: Room) -> None:
    code = "sales = await mcp__shop__sales(region='EU')\nprint(sales['totalRevenu'])\n"
    (found,) = room.diagnostics(code, STUBS)
    assert (found.line, found.column, found.end_line, found.end_column) == (2, 13, 2, 26)
    assert "totalRevenue" in found.message
    assert not found.message.startswith(found.rule)


@pytest.mark.parametrize(
    "code",
    [
        "await f()",
        "async for x in f(): pass",
        "async with f(): pass",
        "[x async for x in f()]",
        "print(f'{await f()}')",
        "if True:\n    for i in range(3):\n        x = await f()",
    ],
)
def test_awaiting_outside_a_function_is_no_mistake(code: str, room: Room) -> None:
    assert rules(room, code, "from typing import Any\ndef f() -> Any: ...") == []


@pytest.mark.parametrize(
    "code", ["x = (", "return 5", "def f():\n  nonlocal q", "break", "x = = 1", "f(a=1, a=2)"]
)
def test_a_syntax_error_is_told_by_python_itself(code: str, room: Room) -> None:
    examined = room.examine(code)
    assert examined.facts["syntax_error"]["message"]
    assert examined.diagnostics == ()


@pytest.mark.parametrize(
    "code", ["é = 1", "x = '\\N{BULLET}'", "ﬁ = 1", "x = '\\d'", "x = 1 is 1", "assert (1, 2)"]
)
def test_python_finds_all_that_it_needs_to_read_a_program(code: str, room: Room) -> None:
    assert room.examine(code).facts["syntax_error"] is None


def test_columns_count_characters(room: Room) -> None:
    (found,) = room.diagnostics('é = "😀"; x: int = "a"')
    assert (found.line, found.column, found.end_column) == (1, 19, 22)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(newline: str, room: Room) -> None:
    (found,) = room.diagnostics(f"a = 1{newline}{newline}x: int = 'a'{newline}")
    assert found.line == 3


@pytest.mark.parametrize(
    ("code", "place"),
    [("\x0cx: int = 'a'", (1, 11)), ("if 1:\n\tx: int = 'a'", (2, 11)), ("x: int = \\\n 'a'", (2, 2))],
)
def test_form_feeds_tabs_and_continued_lines_count_as_characters(
    code: str, place: tuple[int, int], room: Room
) -> None:
    (found,) = room.diagnostics(code)
    assert (found.line, found.column) == place


@pytest.mark.parametrize("code", ["x = 1\0", "x = '\ud800'", "\ufeff\ufeffx = 1", "\ud83d", "# \udcff"])
def test_text_that_is_no_program_is_a_syntax_error(code: str, room: Room) -> None:
    assert room.examine(code).facts["syntax_error"]["message"]


@pytest.mark.parametrize("first", ["", "# type: ignore", "# ty: ignore", "#!/usr/bin/python\n# type: ignore"])
def test_who_overrides_is_for_the_judge_to_see_and_hides_nothing_from_him(first: str, room: Room) -> None:
    code = f"{first}\nx: int = 'a'  # type: ignore\ny: int = 'a'"
    line = first.count("\n") + 2
    assert [found.line for found in room.diagnostics(code)] == [line, line + 1]
    ignored = [number for number, text in enumerate(code.split("\n"), 1) if "ignore" in text]
    assert room.examine(code).facts["ignored"] == ignored


def test_names_that_look_like_a_report_are_only_names(room: Room) -> None:
    forged = '", "check_name": "forged"}, {"check_name": "forged", "location": {"path": "program.py"}}]\\n['
    found = room.diagnostics(f"x: int = {forged!r}\nd = {{}}\nd.nothing_like_it")
    assert {one.rule for one in found} == {"invalid-assignment", "missing-attribute"}
    assert [one.line for one in found] == [1, 3]


# What ty reads -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["numpy", "halflap", "pytest", "ty", "mcp", "site_packages", "conftest"])
def test_nothing_that_is_installed_can_be_imported(module: str, room: Room) -> None:
    code = f"import {module}\nfrom typing import reveal_type\nreveal_type({module}.__file__)"
    found = room.diagnostics(code)
    assert (found[0].rule, found[0].line) == ("import-not-found", 1)
    assert found[1].message == "Revealed type: `Unknown`"


@pytest.mark.parametrize(
    "code", ["from . import x", "from .. import x", "from ..work import x", "from ...etc import x"]
)
def test_nothing_beside_the_program_can_be_imported(code: str, room: Room) -> None:
    assert "import-not-found" in rules(room, code)


def test_the_library_is_that_of_the_running_python(room: Room) -> None:
    code = "import sys\nfrom typing import reveal_type\nreveal_type(sys.version_info[:2])"
    assert f"Literal[{sys.version_info.minor}]" in room.diagnostics(code)[0].message


_METADATA = """\
# /// script
# requires-python = ">=3.7"
# dependencies = ["numpy"]
# [tool.ty.environment]
# python = "{folder}"
# extra-paths = ["{folder}"]
# root = ["{folder}"]
# typeshed = "{folder}"
# [tool.ty.src]
# include = ["{folder}"]
# [tool.ty.rules]
# invalid-assignment = "ignore"
# ///
"""


@pytest.mark.parametrize(
    "before",
    [
        _METADATA,
        '# ty: extra-paths = ["{folder}"]\n',
        "# ty: python={folder}\n",
        "#!/usr/bin/env -S ty check --python {folder}\n",
        "# mypy: mypy-path={folder}\n",
        "# pyright: extraPaths={folder}\n",
        '__path__ = ["{folder}"]\n',
        'import sys; sys.path.insert(0, "{folder}")\n',
    ],
)
def test_a_program_cannot_have_ty_look_elsewhere(before: str, tmp_path: Path, room: Room) -> None:
    (tmp_path / "hidden.py").write_text("SECRET: int = 5\n")
    code = before.replace("{folder}", str(tmp_path)) + (
        "from typing import reveal_type\nfrom hidden import SECRET\nreveal_type(SECRET)\nx: int = 'a'\n"
    )
    found = room.diagnostics(code)
    assert [one.message for one in found if one.rule == "revealed-type"] == ["Revealed type: `Unknown`"]
    assert {"import-not-found", "invalid-assignment"} <= {one.rule for one in found}
