"""What an examination tells of a program, and that the program has no say in how it is examined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.check.room import Room

STUBS = """\
from typing import Any, TypedDict
class Sales(TypedDict):
    totalRevenue: int
async def mcp__shop__sales(*, region: str) -> Sales: ...
def f() -> Any: ...
"""
AWAITING = """\
await f()
async for x in f(): pass
async with f(): pass
[x async for x in f()]
print(f'{await f()}')
if True:
    for i in range(3):
        x = await f()
sales = await mcp__shop__sales(region='EU')
print(sales['totalRevenue'] + 1)
"""


def test_awaiting_outside_a_function_is_no_mistake_and_a_mistake_has_its_place(room: Room) -> None:
    found = room.diagnostics(f"{AWAITING}print(sales['totalRevenu'])\n", STUBS)
    assert [(one.line, one.column) for one in found] == [(11, 13)]


@pytest.mark.parametrize(
    "code",
    ["x = (", "return 5", "x = 1\0", "x = '\ud800'"],
)
def test_a_syntax_error_is_told_by_python_itself(code: str, room: Room) -> None:
    assert [one.rule for one in room.diagnostics(code)] == ["syntax"]


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ('é = "😀"; x: int = "a"', (1, 19)),
        ("a = 1\r\n\r\nx: int = 'a'\r\n", (3, 10)),
        ("\x0cx: int = 'a'", (1, 11)),
    ],
    ids=["characters", "CRLF", "form feed"],
)
def test_places_count_lines_and_characters(code: str, place: tuple[int, int], room: Room) -> None:
    (found,) = room.diagnostics(code)
    assert (found.line, found.column) == place


# What ty reads -----------------------------------------------------------------------------------------


def test_nothing_that_is_installed_or_beside_the_program_can_be_imported(room: Room) -> None:
    modules = ["numpy", "halflap", "pytest", "ty", "mcp", "site_packages", "conftest"]
    imports = [f"import {module}" for module in modules]
    imports += ["from . import x", "from .. import x", "from ..work import x", "from ...etc import x"]
    found = room.diagnostics("\n".join(imports))
    unresolved = {one.line for one in found if one.rule == "import-not-found"}
    assert unresolved == set(range(1, len(imports) + 1))


SETTINGS = """\
#!/usr/bin/env -S ty check --python {folder}
# /// script
# dependencies = ["numpy"]
# [tool.ty.environment]
# python = "{folder}"
# extra-paths = ["{folder}"]
# [tool.ty.rules]
# invalid-assignment = "ignore"
# ///
# ty: extra-paths = ["{folder}"]
__path__ = ["{folder}"]
import sys; sys.path.insert(0, "{folder}")
"""


def test_a_program_cannot_have_ty_look_elsewhere(tmp_path: Path, room: Room) -> None:
    (tmp_path / "hidden.py").write_text("SECRET: int = 5\n")
    code = SETTINGS.replace("{folder}", str(tmp_path)) + (
        "from typing import reveal_type\nfrom hidden import SECRET\nreveal_type(SECRET)\nx: int = 'a'\n"
    )
    found = room.diagnostics(code)
    assert [one.message for one in found if one.rule == "revealed-type"] == ["Revealed type: `Unknown`"]
    assert {"import-not-found", "invalid-assignment"} <= {one.rule for one in found}
