"""What the records show about the results of tools."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from halflap.core.values import Result
from halflap.lint.server import Breach, Evidence

if TYPE_CHECKING:
    from halflap import store
    from halflap.core.values import Tool
    from halflap.observe import Known

_ERROR = re.compile(r"\W{0,8}(\w+ ?)?(error|exception)\b", re.IGNORECASE)
"""The beginning of a text that reports an error; the linter only shows such a text, nothing depends on it."""


def evidence_of(
    tools: Iterable[Tool],
    known: Mapping[str, Known],
    breaches: Iterable[store.Breach],
    calls: Iterable[store.CallRecord],
) -> dict[str, Evidence]:
    """Return the evidence about each tool, by its name in the catalogue."""
    broken: defaultdict[tuple[str, str, str], list[Breach]] = defaultdict(list)
    for one in breaches:
        broken[one.server, one.tool, one.definition_hash].append(Breach(one.path, one.expected, one.times))
    recorded: defaultdict[tuple[str, str, str], list[store.CallRecord]] = defaultdict(list)
    for call in calls:
        recorded[call.server, call.tool, call.definition_hash].append(call)
    found = {}
    for tool in tools:
        learned = known.get(tool.name)
        own = recorded[tool.server, tool.original_name, tool.hash]
        found[tool.name] = Evidence(
            observations=learned.observations if learned else 0,
            confidence=learned.confidence if learned else 0.0,
            type=learned.type if learned else None,
            schema=learned.schema if learned and learned.type is not None else None,
            breaches=tuple(broken[tool.server, tool.original_name, tool.schema_hash]),
            recorded=len(own),
            unmarked_errors=tuple(dict.fromkeys(filter(None, map(_unmarked_error, own)))),
        )
    return found


def _unmarked_error(call: store.CallRecord) -> str | None:
    """Return the text by which a result reports an error although it is not marked as one."""
    try:
        raw = json.loads(call.result or "")
        result = Result.from_wire(raw) if isinstance(raw, dict) else Result(is_error=True)
        value: Any = result.structured_content if result.structured_content is not None else result.text
        if isinstance(value, str) and value[:1] in {"{", "["}:
            value = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and list(value) == ["result"]:
        value = value["result"]
    if isinstance(value, dict) and list(value) == ["error"]:
        value = f"error: {value['error']}"
    is_error = isinstance(value, str) and _ERROR.match(value) is not None
    return value if is_error and not result.is_error else None
