"""All seventy real servers: nothing crashes, the same comes of it each time, and wolf is not cried."""

from __future__ import annotations

import json
from collections import Counter

from halflap.lint import lint, read_definitions
from support import shared_data

SUPPOSED = {
    # Of 527 tools. What is supposed from names and texts has to stay seldom: each of these was looked at, and is right.
    "number-without-unit": 14,
    "date-without-format": 3,
    "date-format-in-prose": 13,
    "enum-in-prose": 6,
    "entity-named-two-ways": 3,
    "error-as-text": 1,
    "destructive-not-annotated": 14,
    "paging-without-cursor": 14,
}


def test_the_same_comes_of_it_each_time_and_every_finding_has_a_fix() -> None:
    text = shared_data("live_tools.json").read_text()
    first, second = (lint(read_definitions(text, "live", "live")) for _ in range(2))
    assert json.dumps(first.to_json()) == json.dumps(second.to_json())
    assert len(first.servers) == 70
    assert sum(len(one.tools) for one in first.servers) == 527
    for server in first.servers:
        assert server.score is not None
        assert 0 < server.score <= 100
        assert all(one.fix and one.message and one.tool in server.tools for one in server.findings)
    counts = Counter(one.rule for server in first.servers for one in server.findings)
    assert {rule: counts[rule] for rule in SUPPOSED} == SUPPOSED
    # They declare no field and nothing is recorded: what cannot be judged is not.
    assert not counts.keys() & {
        "id-not-produced",
        "id-not-accepted",
        "cursor-not-given",
        "results-break-schema",
    }
    assert not first.fails("error")
    assert first.fails("warning")
