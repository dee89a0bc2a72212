"""The `halflap` command: JSON output, exit codes and error codes, story by story."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from acceptance import golden
from acceptance.stories import NODE_PROGRAMS, STORIES, shown, tell_rare
from support import node_program

if TYPE_CHECKING:
    from acceptance.recordings import Recordings


@pytest.mark.parametrize("story", STORIES)
def test_a_story_is_told_as_agreed(told: dict[str, list[dict[str, Any]]], story: str) -> None:
    if story == "real_servers":
        for name in NODE_PROGRAMS:
            node_program(name)
    golden.check(f"commands/{story}", shown(told[story]))


@pytest.mark.slow
def test_programs_are_ended_at_their_limits_and_the_demo_holds_what_it_shows(recordings: Recordings) -> None:
    *ended, demo = recordings.get("rare", partial(tell_rare, recordings))
    assert [(step["exit"], step["json"]["code"]) for step in ended] == [
        (1, "run-cpu"),
        (1, "run-timeout"),
        (1, "run-memory"),
        (1, "run-output"),
    ]
    assert demo["exit"] == 0
    assert demo["json"]["refuse"]["outcome"] == "mistaken"
    assert demo["json"]["learn"]["observations"] == 3
