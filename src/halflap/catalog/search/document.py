"""The texts of a tool that search reads, with limits that real definitions stay below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.core.values import Tool

MAX_NAME = 300
"""Characters of a name. Doubling it doubles the time for a hostile one."""
MAX_TEXT = 4_000
"""Characters of a description, or of all parameters. Doubling it doubles the time to index hostile tools."""


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
    """Return the names of the parameters, and their descriptions and enum values."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return [], []
    texts: list[Any] = []
    for part in properties.values():
        if isinstance(part, dict):
            # Enum values often name what the tool can do: `action` is one of create, move, delete.
            values = part.get("enum")
            texts += [part.get("description"), *(values if isinstance(values, list) else ())]
    return [*properties], [text for text in texts if isinstance(text, str)]
