"""docs/programs.md says what happens."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

import pytest

from execution.desk import Desk
from halflap.config.table import SECTIONS
from halflap.demo import demo_config
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with Desk(demo_config(), tmp_path_factory.mktemp("page")) as desk:
        desk.do(desk.gateway.refresh())
        yield desk


def test_the_program_of_the_page_runs(demo: Desk) -> None:
    code = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
    assert re.fullmatch(r"(.+: \d+ of \d+ cancelled\n){5}", demo.output(code))


def test_the_failure_of_the_page_is_what_is_told(demo: Desk) -> None:
    shown = re.search(r"^    \[Script execution failed\]\n(?:    .*\n)+", PAGE, re.MULTILINE)
    assert shown is not None
    execution = demo.run(
        "rows = await mcp__financial_data__query_financials(ticker='ALDR', statement='income')\n"
        'print(rows[0]["total"])'
    )
    assert re.sub(r"\d+ ms", "4 ms", execution.text) == textwrap.dedent(shown[0]).rstrip("\n")


def test_every_limit_of_the_page_is_a_setting() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert named == {
        setting.key
        for setting in SECTIONS["execution"]
        if setting.key.startswith("max_") or "seconds" in setting.key
    }
