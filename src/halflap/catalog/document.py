"""What search knows of a tool, and how much of a definition it reads."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.core.values import Tool

__all__ = ["LONGEST_NAME", "Document", "document_of"]

# Real definitions are far below these; nobody shall be able to slow search down.
LONGEST_NAME = 300
_LONGEST_TEXT = 4_000
_LONGEST_PARAMETER = 100
_LONGEST_PARAMETER_TEXT = 400
_MOST_PARAMETERS = 100
_MOST_VALUES = 30
_MOST_PARTS = 300


@dataclass(frozen=True, slots=True, order=True)
class Document:
    """What search knows of a tool."""

    name: str
    server: str
    original_name: str
    title: str
    description: str
    parameters: tuple[str, ...] = ()
    parameter_texts: tuple[str, ...] = ()
    server_text: str = ""

    def fields(self) -> tuple[str, str, str, str, str, str]:
        """Give as much of each field as is read: first what is said of the server, then what of the tool."""
        return (
            self.server[:LONGEST_NAME],
            self.server_text[:_LONGEST_TEXT],
            f"{self.original_name[:LONGEST_NAME]} {self.title[:LONGEST_NAME]}",
            self.description[:_LONGEST_TEXT],
            " ".join(self.parameters[:_MOST_PARAMETERS])[:_LONGEST_TEXT],
            " ".join(self.parameter_texts[:_MOST_PARAMETERS])[:_LONGEST_TEXT],
        )


def document_of(tool: Tool, server_text: str) -> Document:
    """Read of a tool what search needs, whatever its schema says."""
    parameters, texts = _parameters(tool.input_schema)
    return Document(
        name=tool.name,
        server=tool.server,
        original_name=tool.original_name,
        title=tool.title or tool.annotations.title or "",
        description=tool.description[:_LONGEST_TEXT],
        parameters=tuple(parameters[:_MOST_PARAMETERS]),
        parameter_texts=tuple(texts[:_MOST_PARAMETERS]),
        server_text=server_text[:_LONGEST_TEXT],
    )


def _parameters(schema: Any) -> tuple[list[str], list[str]]:
    """Give the names of all parameters, and what is said of them; the outer ones first.

    Those within others count too: many tools take one object that has all the rest in it.
    """
    names: list[str] = []
    texts: list[str] = []
    parts = deque([schema])
    for _ in range(_MOST_PARTS):
        part = parts.popleft() if parts else None
        if not isinstance(part, dict):
            continue
        text = part.get("description") if part is not schema else None
        # What may be chosen is often what the tool can do: `action` is one of create, move, delete.
        chosen = part.get("enum")
        said = [text, *(chosen[:_MOST_VALUES] if isinstance(chosen, list) else ())]
        texts += [one[:_LONGEST_PARAMETER_TEXT] for one in said if isinstance(one, str)]
        properties = part.get("properties")
        if isinstance(properties, dict):
            listed = dict(islice(properties.items(), _MOST_PARAMETERS))
            names += [str(name)[:_LONGEST_PARAMETER] for name in listed]
            parts += listed.values()
        parts += islice(_within(part), _MOST_PARAMETERS)
    return names, texts


def _within(schema: dict[str, Any]) -> Iterator[Any]:
    for key in ("items", "anyOf", "oneOf", "allOf", "$defs", "definitions"):
        inner = schema.get(key)
        if isinstance(inner, list):
            yield from inner
        elif isinstance(inner, dict):
            yield from (inner,) if key == "items" else inner.values()
