"""The programs of the pages do what the pages say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from servers.memory import bundled
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.desk import Desk


def program(page: str) -> str:
    """Return the first program of a page."""
    shown = re.search(r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)
    assert shown is not None
    return shown[1]


@pytest.fixture(scope="module")
def demo(desk_with: Callable[..., Desk]) -> Desk:
    desk = desk_with(check="on", servers=bundled())
    desk.do(desk.gateway.refresh())
    return desk


def test_the_program_of_the_page_on_programs_runs(demo: Desk) -> None:
    assert re.fullmatch(r"(.+: \d+ of \d+ cancelled\n){5}", demo.output(program("programs.md")))


def test_the_program_of_the_page_on_checking_is_mistaken(demo: Desk) -> None:
    assert demo.run(program("checking.md")).outcome == "mistaken"
