"""Learn from Halflap's own recorded calls that nothing was learned from yet."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.backfill.formats.results import value_of
from halflap.backfill.found import Knowledge
from halflap.backfill.learner import OBSERVED_BYTES
from halflap.core.values import Result
from halflap.graph.lineage import Trails
from halflap.learn import Observations, digest_of
from halflap.schema import Reading
from halflap.store import ToolKey

if TYPE_CHECKING:
    from halflap.backfill.rules import Rules
    from halflap.store import CallRecord, Store

__all__ = ["RecordedCalls", "learn_recorded", "recorded_calls"]

_BATCH = 500


class RecordedCalls(NamedTuple):
    """What a batch of recorded calls told."""

    knowledge: Knowledge
    calls: list[str]
    """The ids of the calls that it is from."""
    incomplete: int
    """Calls whose results were not recorded whole."""


async def recorded_calls(store: Store) -> AsyncIterator[list[CallRecord]]:
    """Yield the calls that nothing was learned from, a batch at a time."""
    after: str | None = None
    while calls := await store.unobserved_calls(after, _BATCH):
        after = calls[-1].id
        yield list(calls)


def learn_recorded(calls: Sequence[CallRecord], rules: Rules) -> RecordedCalls:
    """Learn from recorded calls. Values are followed within the batch."""
    results: Observations[ToolKey] = Observations(values=rules.values, most_bytes=OBSERVED_BYTES)
    trails = Trails(rules.salt)
    used: list[str] = []
    for call in calls:
        hashed = rules.schema_hashes.get(call.definition_hash, call.definition_hash)
        key = ToolKey(call.server, call.tool, hashed)
        result = None if call.result is None or call.result_cut else _read(call.result)
        if type(result) is not dict:
            continue
        arguments = _read(call.arguments)
        arguments = arguments if type(arguments) is dict else {}
        value, is_error = value_of(Result.from_wire(result), rules.readings.get(key, Reading()))
        digest = digest_of(arguments, rules.salt)
        results.add(key, value, digest, call.started_at, is_error=is_error, size=len(call.result or ""))
        used.append(call.id)
        if rules.lineage and call.run is not None:
            ended = call.started_at + (call.duration_ms or 0) / 1_000
            run = (call.principal, call.run)
            seen = None if is_error else value
            trails.see(run, key, arguments, seen, began=call.started_at, ended=ended)
    return RecordedCalls(Knowledge(results.learned(), lineage=trails.take()), used, len(calls) - len(used))


def _read(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
