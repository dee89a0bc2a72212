"""Small graphs made by hand, with a line for each tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.graph.edges import Graph
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.graph.naming import subject_of
from halflap.graph.naming.vocabulary import CHANGE_VERBS
from halflap.graph.paths import EACH, NAME, VALUE, key, path_text
from halflap.graph.plan import workflow_json
from halflap.graph.ports import Place, Ports, Slot
from halflap.graph.types import form_of
from halflap.schema import Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.graph.paths import Path
    from halflap.graph.plan import Planned

__all__ = ["graph_of", "path", "ports", "shown"]

STRING = Type("string")


def path(text: str) -> Path:
    """Read a path: `customers[].id`, `methods.{key}`, `map.{}.x`."""
    steps = []
    for part in text.replace("[]", ".[]").split("."):
        if part == "[]":
            steps.append(EACH)
        elif part == "{}":
            steps.append(VALUE)
        elif part == "{key}":
            steps.append(NAME)
        elif part and part != "$":
            steps.append(key(part))
    return tuple(steps)


def ports(
    tool: str,
    takes: str = "",
    gives: str = "",
    *,
    server: str = "shop",
    destructive: bool = False,
    latency: float | None = None,
    types: Mapping[str, Type] | None = None,
) -> Ports:
    """Make a tool: `takes` and `gives` are paths; `?` marks what is optional, `=` what is required and has a default.

    It only reads, unless its name has a verb of change.
    """
    known = types or {}
    slots = [
        Slot(
            path(text.rstrip("?=")),
            known.get(text.rstrip("?="), STRING),
            "?" not in text,
            "=" in text,
            default="usual" if "=" in text else None,
        )
        for text in takes.split()
    ]
    places = [
        Place(
            path(text.rstrip("?")),
            known.get(text.rstrip("?"), STRING),
            is_seldom="?" in text,
            form=form_of(known.get(text.rstrip("?"), STRING)),
        )
        for text in gives.split()
    ]
    # As with real tools, what has parts is a slot, too.
    inner = {one.path for one in slots}
    around = {
        one.path[:size]: one
        for one in slots
        for size in range(1, len(one.path))
        if one.path[size].kind == "key" and one.path[:size] not in inner
    }
    slots += [Slot(part, Type("object"), required=True) for part in around]
    required = {one.parameter for one in slots if one.required and not one.has_default}
    verb = subject_of(tool).verb
    return Ports(
        f"mcp__{server}__{tool}",
        server,
        tuple(places),
        tuple(slots),
        frozenset(required),
        original_name=tool,
        is_destructive=destructive,
        changes=None if destructive or verb in CHANGE_VERBS else False,
        latency_ms=latency,
    )


def graph_of(*tools: Ports, links: Iterable[tuple[str, Path, str, Path]] = ()) -> Graph:
    """Make a graph; `links` are from a tool's place to another's slot, whatever their names are."""
    flows = {Flow(one, path_text(at), two, path_text(to)): Count(50, 5) for one, at, two, to in links}
    return Graph(tools, Lineage(flows))


def shown(planned: Planned) -> dict[str, Any]:
    return {
        "suggestions": [workflow_json(one) for one in planned.suggestions],
        "missing": [one.to_json() for one in planned.missing],
    }
