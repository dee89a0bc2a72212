"""What servers with richly declared results share: short forms of schemas, and tools that check their arguments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from by_hand import INVALID_PARAMS, RefusedError, offering, serve  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]
Given = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    takes: Schema
    gives: Schema | None
    answer: Callable[[Given], Any]
    """Returns the result, or raises LookupError with what is wrong."""

    @property
    def definition(self) -> dict[str, Any]:
        made = {"name": self.name, "description": self.description, "inputSchema": self.takes}
        return made if self.gives is None else {**made, "outputSchema": self.gives}

    def call(self, given: Given) -> dict[str, Any]:
        unknown = given.keys() - self.takes["properties"].keys()
        missing = set(self.takes["required"]) - given.keys()
        if unknown or missing:
            return text(f"unknown arguments: {sorted(unknown)}, missing: {sorted(missing)}", isError=True)
        try:
            value = self.answer(given)
        except LookupError as error:
            return text(str(error), isError=True)
        written = value if isinstance(value, str) else json.dumps(value)
        return text(written) if self.gives is None else text(written, structuredContent=value)


def serve_tools(name: str, tools: list[Tool]) -> None:
    by_name = {tool.name: tool for tool in tools}

    def call(tool: str, given: Given) -> dict[str, Any]:
        if tool not in by_name:
            raise RefusedError(INVALID_PARAMS, f"Unknown tool: {tool}")
        return by_name[tool].call(given)

    serve(offering(name, lambda: [tool.definition for tool in tools], call))


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def by_name(values: Schema) -> Schema:
    """An object whose keys are data."""
    return {"type": "object", "additionalProperties": values}


def opened(optional: str = "", **properties: Schema) -> Schema:
    """An object that may have further keys."""
    required = [name for name in properties if name not in optional.split()]
    return {"type": "object", "properties": properties, "required": required}


def closed(optional: str = "", **properties: Schema) -> Schema:
    """An object that has these keys and no others."""
    return {**opened(optional, **properties), "additionalProperties": False}
