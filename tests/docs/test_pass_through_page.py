"""docs/pass-through.md and docs/reliability.md: the tests that they name exist, and their limits are right."""

from __future__ import annotations

import re

from halflap.server.client import ANSWER_SECONDS
from halflap.server.parking import MAX_PARKED, MAX_PARKED_EACH
from halflap.upstream.listing import MAX_ENTRIES
from support import ROOT

TESTS = ROOT / "tests" / "server" / "passthrough"


def test_every_row_of_the_table_is_bound_to_tests() -> None:
    page = (ROOT / "docs" / "pass-through.md").read_text()
    table = page.partition("## The table")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 10
    known = {
        name for file in TESTS.glob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())
    }
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        named = re.findall(r"`(test_\w+)`", cells[-1])
        assert named, row
        assert set(named) <= known, row


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "pass-through.md").read_text()
    assert (MAX_PARKED_EACH, ANSWER_SECONDS) == (8, 600)
    assert f"{MAX_PARKED} in all" in page
    assert f"At most {MAX_ENTRIES:,} prompts" in page


def test_the_tests_that_the_reliability_page_names_exist() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    named = set(re.findall(r"`(tests/[a-z_/]+\.py)`", page))
    assert len(named) > 10
    assert all((ROOT / name).is_file() for name in named)
