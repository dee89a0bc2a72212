"""Linting real catalogues: deterministic, every finding has a fix, and what cannot be judged is not."""

from __future__ import annotations

import json

import pytest

from halflap.lint import lint, read_definitions
from support import shared_data


@pytest.mark.slow
def test_real_catalogues_are_linted_the_same_each_time() -> None:
    text = shared_data("live_tools.json").read_text()
    first, second = (lint(read_definitions(text, "live", "live")) for _ in range(2))
    assert json.dumps(first.to_json()) == json.dumps(second.to_json())
    for server in first.servers:
        assert server.score is not None
        assert 0 < server.score <= 100
        assert all(one.fix and one.message and one.tool in server.tools for one in server.findings)
    rules = {one.rule for server in first.servers for one in server.findings}
    # They declare no outputs, and nothing is recorded.
    assert not rules & {"id-not-produced", "id-not-accepted", "cursor-not-given", "results-break-schema"}
    assert not first.fails("error")
    assert first.fails("warning")
