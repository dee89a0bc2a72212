"""Put what was seen where values went beside the places and slots that tools are known to have.

Of one value nobody can tell whether a key that looks like a name is one of a record or one of a map: `by.alice.id`. What
the tool declares, or what was learned from many results, tells: `by.{}.id`.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from halflap.graph.edge import EACH, NAME, VALUE, key, path_text
from halflap.graph.lineage import Count, Flow, Lineage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.graph.edge import Path, Ports, Step

__all__ = ["fitted", "read_path"]

_STEP = re.compile(
    r"(?P<each>\[\])|\.?(?P<name>\{key\})|\.?(?P<value>\{\})|\[(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]"
    r"|\.?(?P<key>[^.\[\]{}]+)"
)


def read_path(text: str) -> Path | None:
    """Read what `path_text` wrote; None where it is nothing of that."""
    path: list[Step] = []
    at = 0
    while at < len(text) and text != "$":
        found = _STEP.match(text, at)
        if found is None:
            return None
        at = found.end()
        if found["quoted"] is not None:
            try:
                path.append(key(ast.literal_eval(found["quoted"])))
            except (ValueError, SyntaxError):
                return None
        elif found["key"] is not None:
            if not found["key"].isidentifier():
                return None
            path.append(key(found["key"]))
        else:
            path.append(EACH if found["each"] else NAME if found["name"] else VALUE)
    return tuple(path)


def fitted(lineage: Lineage, tools: Mapping[str, Ports]) -> Lineage:
    """Give the same with the paths that the tools have; what fits none stays as it is, and what becomes one is added up."""
    known: dict[tuple[str, bool, str], str] = {}

    def of(tool: str, text: str, *, is_source: bool) -> str:
        found = known.get((tool, is_source, text))
        if found is None:
            ports = tools.get(tool)
            paths = () if ports is None else _paths(ports, is_source=is_source)
            found = known[tool, is_source, text] = _fit(text, paths)
        return found

    counts: dict[Flow, Count] = {}
    for flow, (times, runs) in lineage.counts.items():
        placed = Flow(
            flow.source,
            of(flow.source, flow.source_path, is_source=True),
            flow.target,
            of(flow.target, flow.target_path, is_source=False),
        )
        before = counts.get(placed, Count(0, 0))
        counts[placed] = Count(before.times + times, before.runs + runs)
    return Lineage(counts)


def _paths(ports: Ports, *, is_source: bool) -> Iterable[Path]:
    return [place.path for place in ports.places] if is_source else [slot.path for slot in ports.slots]


def _fit(text: str, paths: Iterable[Path]) -> str:
    among = list(paths)
    if any(path_text(path) == text for path in among):
        return text
    seen = read_path(text)
    if seen is None:
        return text
    fitting = (
        path
        for path in among
        if len(path) == len(seen)
        and all(
            one == other or (one == VALUE and other.kind == "key")
            for one, other in zip(path, seen, strict=True)
        )
    )
    # The one that agrees in the most steps.
    best = max(
        fitting,
        key=lambda path: (sum(a == b for a, b in zip(path, seen, strict=True)), path_text(path)),
        default=None,
    )
    return text if best is None else path_text(best)
