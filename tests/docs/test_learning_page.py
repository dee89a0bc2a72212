"""docs/learning.md."""

from __future__ import annotations

import json
import re
from typing import Any

from halflap.learn import confidence, infer
from support import ROOT

PAGE = (ROOT / "docs" / "learning.md").read_text()


def test_the_example_gives_the_schema_shown() -> None:
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
