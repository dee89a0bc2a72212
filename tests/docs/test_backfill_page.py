"""docs/backfill.md."""

from __future__ import annotations

import re

import pytest

from backfill.logs import found_in
from halflap.learn import Learned, digest_of, infer
from halflap.store import ToolKey
from support import ROOT

PAGE = (ROOT / "docs" / "backfill.md").read_text()
EXAMPLES = re.findall(r"```jsonl?\n(.*?)```", PAGE, re.DOTALL)
TOLD = Learned(infer([{"id": 7, "total": 9.5}], [digest_of({"id": 7})]))


def test_there_is_an_example_of_every_form() -> None:
    assert len(EXAMPLES) == 10


@pytest.mark.parametrize("example", EXAMPLES, ids=[str(number) for number in range(len(EXAMPLES))])
def test_every_example_gives_the_same_observation(example: str) -> None:
    found = found_in(example.encode())
    assert found.knowledge.shapes == {ToolKey("shop", "get_order", ""): TOLD}
    counts = found.counts
    assert (counts.bad_count, counts.other, counts.unpaired, counts.nameless) == (0, 0, 0, 0)
