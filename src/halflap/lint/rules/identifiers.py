"""Rules about ids: they should come from somewhere, lead somewhere, and have one name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from halflap.graph.naming import place_identities, slot_identities, subject_of
from halflap.lint.rule import Limits, Problem, Rule

if TYPE_CHECKING:
    from halflap.graph.naming import Words
    from halflap.lint.fields import SchemaField
    from halflap.lint.server import LintServer, LintTool

_OTHER_SYSTEMS = frozenset(["client", "correlation", "idempotency", "request", "session", "trace"])
"""Ids of the conversation with the server rather than of its data."""


def _entities(tool: LintTool, field: SchemaField) -> set[Words]:
    """Return the entities whose id a field may be, as singular words; declared ones first of all."""
    declared = field.relations.get("produces" if field.side == "output" else "consumes")
    if isinstance(declared, str):
        return {("declared", declared)}
    subject = subject_of(tool.tool.original_name)
    if field.side == "output":
        identities = place_identities(field.keys, subject)
    else:
        identities = slot_identities(field.keys, subject)[:1]
    found = {one.thing for one in identities if one.attribute == "id" and one.thing}
    return {thing for thing in found if not _OTHER_SYSTEMS & set(thing)}


def _match(one: set[Words], other: set[Words]) -> bool:
    """Return whether two fields may identify the same entity: `customer` and `top customer` do."""
    return any(a[-len(b) :] == b or b[-len(a) :] == a for a in one for b in other)


def _other_fields(server: LintServer, tool: LintTool, side: str) -> Iterator[set[Words]]:
    for other in server.tools:
        if other is not tool:
            for field in other.outputs if side == "output" else other.inputs:
                yield _entities(other, field)


def _id_not_produced(server: LintServer, _: Limits) -> Iterator[Problem]:
    if not all(tool.knows_outputs for tool in server.tools):
        return
    for tool in server.tools if len(server.tools) > 1 else ():
        for field in tool.inputs:
            wanted = _entities(tool, field) if field.required and len(field.keys) == 1 else set()
            if wanted and not any(_match(wanted, one) for one in _other_fields(server, tool, "output")):
                yield Problem(
                    tool,
                    field.where,
                    f"{tool.shown} requires {field.shown}, but no other tool of this server returns one.",
                    f"Return `{field.shown}` from a tool that lists or finds them, or say in its description where to get it.",
                )


def _id_not_accepted(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools if len(server.tools) > 1 else ():
        if subject_of(tool.tool.original_name).destroys:
            continue
        taken = [_entities(tool, field) for field in tool.inputs]
        for field in tool.outputs:
            offered = _entities(tool, field)
            if not offered or any(_match(offered, one) for one in taken):
                continue
            if not any(_match(offered, one) for one in _other_fields(server, tool, "input")):
                yield Problem(
                    tool,
                    field.where,
                    f"{tool.shown} returns {field.shown}, but no tool of this server takes it.",
                    "Name it like the parameter that takes it, add a tool that takes it, or leave it out.",
                )


def _entity_named_two_ways(server: LintServer, _: Limits) -> Iterator[Problem]:
    uses: defaultdict[Words, list[tuple[LintTool, SchemaField]]] = defaultdict(list)
    for tool in server.tools:
        for field in (*tool.inputs, *tool.outputs):
            # An `id` inside a record is what everyone writes; a name of two words says what it identifies.
            if len(field.words) > 1 and not field.is_list and field.words[-1] == "id":
                uses[field.words].append((tool, field))
    for found in uses.values():
        usual = Counter(field.name for _, field in found).most_common(1)[0][0]
        for tool, field in found:
            if field.name != usual and usual not in field.siblings:
                yield Problem(
                    tool,
                    field.where,
                    f"{tool.shown} calls {field.shown} what other tools of this server call `{usual}`.",
                    f"Rename {field.where} to `{usual}`.",
                )


RULES = (
    Rule("id-not-produced", "info", _id_not_produced, needs="outputs"),
    Rule("id-not-accepted", "info", _id_not_accepted, needs="outputs"),
    Rule("entity-named-two-ways", "warning", _entity_named_two_ways),
)
