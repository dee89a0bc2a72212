from __future__ import annotations

import json
import re
from typing import Any

from halflap.learn import confidence, infer
from halflap.learn.limits import MOST_KEYS, MOST_PLACES, MOST_VALUES, MOST_VARIANTS
from halflap.learn.names import TAG_KEYS
from support import ROOT

PAGE = (ROOT / "docs" / "learning.md").read_text()


def test_the_example_gives_the_schema_that_stands_below_it() -> None:
    code, schema = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("python", "json"))
    assert code is not None
    assert schema is not None
    names: dict[str, Any] = {}
    exec(code[1], names)
    assert names["schema"] == json.loads(schema[1])


def test_the_table_of_confidence_is_right() -> None:
    calls, said = (
        [float(cell) for cell in re.findall(r"[\d.]+", line)]
        for line in PAGE.splitlines()
        if line.startswith(("| different calls", "| confidence"))
    )
    assert len(calls) == 8
    for count, level in zip(calls, said, strict=True):
        assert round(confidence(infer([1] * int(count), range(int(count)))), 2) == level


def test_the_bounds_are_those_that_hold() -> None:
    for text in (
        f"{MOST_KEYS} names",
        f"{MOST_VARIANTS} tags",
        f"{MOST_VALUES} values",
        f"{MOST_PLACES:,} places",
    ):
        assert f"| {text}" in PAGE


def test_every_tag_key_is_named() -> None:
    assert set(re.findall(r"`([@\w]+)`", PAGE.partition("The\n  keys are")[2].partition(".")[0])) == TAG_KEYS
