"""What search knows of a tool, and how much of a definition it reads."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.values import Tool

__all__ = ["LONGEST_NAME", "Document", "document_of"]

# Real definitions are far below these; nobody shall be able to slow search down.
LONGEST_NAME = 300
_LONGEST_TEXT = 4_000
_LONGEST_PARAMETER = 100
_LONGEST_PARAMETER_TEXT = 400
_MOST_PARAMETERS = 100


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
    properties = tool.input_schema.get("properties")
    listed = dict(islice(properties.items(), _MOST_PARAMETERS)) if isinstance(properties, dict) else {}
    texts = [schema.get("description") for schema in listed.values() if isinstance(schema, dict)]
    return Document(
        name=tool.name,
        server=tool.server,
        original_name=tool.original_name,
        title=tool.title or tool.annotations.title or "",
        description=tool.description[:_LONGEST_TEXT],
        parameters=tuple(str(name)[:_LONGEST_PARAMETER] for name in listed),
        parameter_texts=tuple(text[:_LONGEST_PARAMETER_TEXT] for text in texts if isinstance(text, str)),
        server_text=server_text[:_LONGEST_TEXT],
    )
