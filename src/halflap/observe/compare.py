"""What results have that was not so before: news, and drift where what was before had settled."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.learn import changes, confidence
from halflap.learn.drift import STABLE
from halflap.observe.known import FEWEST, whole
from halflap.store import LIVE, DriftEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.learn import Learned
    from halflap.store import ToolKey

__all__ = ["Compared", "compare"]

_FEWEST_CALLS = 50
"""What rests on fewer different calls cannot have settled, and need not be looked at for that."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of adding something to what was known."""

    after: Mapping[ToolKey, Learned]
    changed: tuple[ToolKey, ...]
    """The tools of which something is known now that was not."""
    drift: tuple[DriftEvent, ...]


def compare(
    before: Mapping[ToolKey, Learned],
    added: Mapping[ToolKey, Learned],
    *,
    enums: bool = False,
    origin: str = LIVE,
) -> Compared:
    """Add what was just seen to what was known, tool by tool, and say what is new in it.

    What comes from another origin is of any age: that it contradicts what had settled can be said, but not since when.
    """
    changed: list[ToolKey] = []
    drift: list[DriftEvent] = []
    for key, new in added.items():
        was, now = whole(before[key]), whole(new)
        if not now.observations:
            continue
        found = changes(was, now) if was.observations else ()
        if found or was.observations < FEWEST:
            # The first few say what it returns only together.
            changed.append(key)
        if not found or was.sample.size() < _FEWEST_CALLS:
            continue
        sure = confidence(was, enums=enums)
        if sure >= STABLE:
            at = time.time() if now.first is None or origin != LIVE else now.first
            rests_on = (was.observations, round(sure, 4))
            drift += [
                DriftEvent(*key, one.path, one.what, one.before, one.now, at, *rests_on, origin)
                for one in found
            ]
    after = {key: before[key].merge(new) for key, new in added.items()}
    return Compared(after, tuple(changed), tuple(drift))
