"""The texts of a tool that search reads, cut to lengths that real definitions stay below."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.core.values import Tool

MAX_NAME = 300
"""Characters of a name; twice as many double the time for a hostile one."""
MAX_TEXT = 4_000
"""Characters of a description, or of all parameters; twice as many double the time to index hostile tools."""
_MAX_PARAMETER_TEXT = 400
"""Characters of one description of a parameter."""
_MAX_SCHEMAS = 300
"""Subschemas visited per tool; parameters nested deeper are not found."""
_MAX_PROPERTIES = 100
"""Properties, values or alternatives read of one schema; later ones are not found."""


@dataclass(frozen=True, slots=True)
class Document:
    """The texts of one tool, by field."""

    name: str
    server: str
    original_name: str
    title: str = ""
    description: str = ""
    parameters: str = ""
    parameter_texts: str = ""
    server_text: str = ""


def document_of(tool: Tool, server_text: str) -> Document:
    names, texts = _parameters(tool.input_schema)
    return Document(
        name=tool.name,
        server=tool.server,
        original_name=tool.original_name,
        title=(tool.title or tool.annotations.title or "")[:MAX_NAME],
        description=tool.description[:MAX_TEXT],
        parameters=" ".join(names)[:MAX_TEXT],
        parameter_texts=" ".join(texts)[:MAX_TEXT],
        server_text=server_text[:MAX_TEXT],
    )


def _parameters(schema: Any) -> tuple[list[str], list[str]]:
    """Return the names of all parameters and their descriptions and enum values, outermost first.

    Nested ones count too: many tools take a single object with everything in it.
    """
    names: list[str] = []
    texts: list[str] = []
    pending = deque([schema])
    for _ in range(_MAX_SCHEMAS):
        if not pending:
            break
        part = pending.popleft()
        if not isinstance(part, dict):
            continue
        # Enum values often name what the tool can do: `action` is one of create, move, delete.
        values = part.get("enum")
        said = [part.get("description"), *(values[:_MAX_PROPERTIES] if isinstance(values, list) else ())]
        if part is not schema:
            texts += [text[:_MAX_PARAMETER_TEXT] for text in said if isinstance(text, str)]
        properties = part.get("properties")
        if isinstance(properties, dict):
            named = list(islice(properties.items(), _MAX_PROPERTIES))
            names += [str(name)[:MAX_NAME] for name, _ in named]
            pending += [inner for _, inner in named]
        pending += islice(_nested(part), _MAX_PROPERTIES)
    return names, texts


def _nested(schema: dict[str, Any]) -> Iterator[Any]:
    for key in ("items", "anyOf", "oneOf", "allOf", "$defs", "definitions"):
        inner = schema.get(key)
        if isinstance(inner, list):
            yield from inner
        elif isinstance(inner, dict):
            yield from (inner,) if key == "items" else inner.values()
