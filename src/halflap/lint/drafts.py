"""Draft the output schema that a tool lacks from what its results showed, as JSON Schema and as Python types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.schema import read_type
from halflap.schema.stub import write_types

if TYPE_CHECKING:
    from halflap.lint.server import LintServer, LintTool

_LEARNED_KEYWORDS = frozenset({"x-halflap", "$schema"})


@dataclass(frozen=True, slots=True)
class Draft:
    """What a tool could declare; without a schema, why there is none."""

    server: str
    tool: str
    original_name: str
    observations: int
    confidence: float
    schema: dict[str, Any] | None = None
    python: str = ""
    is_wrapped: bool = False
    """Whether results are not objects, so that they must be returned under `result`."""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the form of `--json`."""
        data: dict[str, Any] = {
            "server": self.server,
            "tool": self.tool,
            "originalName": self.original_name,
            "observations": self.observations,
            "confidence": round(self.confidence, 4),
        }
        if self.schema is None:
            return {**data, "why": self.reason}
        return {
            **data,
            "patch": {"outputSchema": self.schema},
            "python": self.python,
            "wrapped": self.is_wrapped,
        }


def drafts_of(server: LintServer) -> Iterator[Draft]:
    """Yield a draft for each tool that declares nothing about its results."""
    for tool in server.tools:
        if tool.output_type is None:
            yield _draft(server, tool)


def _draft(server: LintServer, tool: LintTool) -> Draft:
    seen = tool.evidence
    about = (server.name, tool.name, tool.tool.original_name, seen.observations, seen.confidence)
    schema = drafted_schema(tool)
    if schema is None:
        return Draft(
            *about,
            reason="Too few results to be sure; call it with other arguments as well."
            if seen.observations
            else "No results yet; call it through Halflap or run `halflap backfill` on its logs.",
        )
    python = write_types(f"{tool.tool.original_name} result", read_type(schema))
    is_wrapped = list(schema.get("properties", {})) == ["result"] and not _is_object(dict(seen.schema or {}))
    return Draft(*about, schema=schema, python=python, is_wrapped=is_wrapped)


def drafted_schema(tool: LintTool) -> dict[str, Any] | None:
    """Return the learned schema as one that can be declared: an object, with other results under `result`."""
    if tool.evidence.schema is None:
        return None
    bare: dict[str, Any] = _without_notes(dict(tool.evidence.schema))
    if not _is_object(bare):
        bare = {"properties": {"result": bare}, "required": ["result"]}
    return {"type": "object", **bare}


def _is_object(schema: dict[str, Any]) -> bool:
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        return all(isinstance(one, dict) and one.get("type") == "object" for one in choices)
    return schema.get("type") == "object"


def _without_notes(value: Any, *, are_names: bool = False) -> Any:
    """Remove what only says how the schema was learned; keys of `properties` are names and always stay."""
    if isinstance(value, list):
        return [_without_notes(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_notes(one, are_names=key == "properties" and not are_names)
        for key, one in value.items()
        if are_names or key not in _LEARNED_KEYWORDS
    }
