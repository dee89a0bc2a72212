"""Our own store as a source: the calls that were recorded before anything learned from them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.backfill.value import value_of
from halflap.core.values import Result
from halflap.graph.lineage import Lineage, Trails
from halflap.learn import Learned, Observer, digest_of, outcome_of
from halflap.schema import Reading
from halflap.store import ToolKey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from halflap.backfill.rules import Rules
    from halflap.learn import Outcome
    from halflap.store import CallRecord, Store

__all__ = ["LEARNED_ORIGIN", "Batch", "learn_calls", "own_calls"]

LEARNED_ORIGIN = "backfill"
"""All backfills add to one origin: what is known is read often, and from few rows; the sources' marks stand apart."""
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Batch:
    """What was learned from some calls, and from which."""

    shapes: dict[ToolKey, Learned]
    calls: list[CallRecord]
    left_out: int
    """How many are not recorded whole."""
    flows: list[tuple[str, Lineage]] = field(default_factory=list)
    """Where values went, by the call that took them."""

    @property
    def lineage(self) -> Lineage:
        return Lineage.sum(flows for _, flows in self.flows)

    def without(self, taken: frozenset[str], rules: Rules) -> Batch:
        """Give it without calls that somebody else has learned from meanwhile."""
        left = [call for call in self.calls if call.id not in taken]
        flows = [told for told in self.flows if told[0] not in taken]
        return Batch(learn_calls(left, rules).shapes, left, self.left_out, flows)


async def own_calls(store: Store, rules: Rules) -> AsyncIterator[Batch]:
    """Learn from the recorded calls that nothing was learned from, some at a time."""
    after: str | None = None
    trails = Trails(rules.salt) if rules.lineage else None
    while True:
        calls = await store.unobserved_calls(after, _AT_ONCE)
        if not calls:
            return
        after = calls[-1].id
        yield await asyncio.to_thread(learn_calls, calls, rules, trails)


def learn_calls(calls: Sequence[CallRecord], rules: Rules, trails: Trails | None = None) -> Batch:
    """Learn from recorded calls."""
    watching: dict[ToolKey, dict[Outcome, Observer]] = {}
    seen: list[CallRecord] = []
    flows: list[tuple[str, Lineage]] = []
    left_out = 0
    for call in calls:
        key = ToolKey(
            call.server, call.tool, rules.schema_hashes.get(call.definition_hash, call.definition_hash)
        )
        result = None if call.result is None or call.result_cut else _read(call.result)
        if type(result) is not dict:
            left_out += 1
            continue
        given = _read(call.arguments)
        arguments = given if type(given) is dict else {}
        value, is_error = value_of(Result.from_wire(result), rules.readings.get(key, Reading()))
        outcome = outcome_of(value, is_error=is_error)
        outcomes = watching.setdefault(key, {})
        if outcome not in outcomes:
            outcomes[outcome] = Observer(values=rules.values)
        digest = digest_of(arguments, rules.salt)
        outcomes[outcome].observe(value, digest, call.started_at)
        seen.append(call)
        if trails is not None and call.run is not None:
            ended = call.started_at + (call.duration_ms or 0) / 1_000
            run = (call.principal, call.run)
            told = None if is_error else value
            trails.see(run, key, arguments, told, began=call.started_at, ended=ended)
            if trails:
                flows.append((call.id, trails.take()))
    shapes = {
        key: Learned(**{outcome: one.shape() for outcome, one in outcomes.items()})
        for key, outcomes in watching.items()
    }
    return Batch(shapes, seen, left_out, flows)


def _read(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
