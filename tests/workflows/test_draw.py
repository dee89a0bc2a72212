"""Workflows as Mermaid and DOT."""

from __future__ import annotations

import re
from dataclasses import replace

from halflap.workflows.model.draw import drawing
from halflap.workflows.model.net import Condition, Flow, Task
from workflows.nets import net

HOSTILE = '"]; click n1 "javascript:alert(1)" </text><script>alert(1)</script> --> x\n%%{init}%%\u202e&amp;'


def test_hostile_names_stay_text() -> None:
    made = net("a", "i>a a>o")
    made = replace(
        made,
        tasks={"a": Task("a", HOSTILE, resource=HOSTILE)},
        conditions={**made.conditions, "i": Condition("i", HOSTILE)},
        flows=(*made.flows, Flow("a", "a", predicate="x == 1")),
    )
    for line in drawing(made).mermaid().split("\n")[1:]:
        assert re.fullmatch(r' +n\d+(\[".*"\]|\(\(".*"\)\)| -->(\|".*"\|)? n\d+)', line), line
        inner = re.sub(r"<br/>|#\d+;", "", line.partition('"')[2].rpartition('"')[0])
        assert not re.search(r'["<>;%{}\[\]\\\u202e]', inner), line
