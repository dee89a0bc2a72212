"""A server as the linter sees it: its tools, their fields, and what recorded results showed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible
from halflap.lint.fields import SchemaField, fields_of_schema
from halflap.schema import is_wrapped, parse_schema

if TYPE_CHECKING:
    from halflap.core.values import Tool
    from halflap.schema import Type


@dataclass(frozen=True, slots=True)
class Breach:
    """A place where results broke the declared output schema."""

    path: str
    expected: str
    times: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the recorded results of a tool showed."""

    observations: int = 0
    """Successful results that something was learned from."""
    confidence: float = 0.0
    type: Type | None = None
    schema: Mapping[str, Any] | None = None
    """The learned output schema."""
    breaches: tuple[Breach, ...] = ()
    recorded: int = 0
    """Recorded results that were examined."""
    unmarked_errors: tuple[str, ...] = ()
    """Texts of results that report an error without `isError`."""


NO_EVIDENCE = Evidence()


@dataclass(frozen=True)
class LintTool:
    """A tool's definition, read."""

    tool: Tool
    evidence: Evidence = NO_EVIDENCE
    definition: Mapping[str, Any] | None = None
    """The definition as the server sent it, where it is available."""

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return self.tool.name

    @property
    def shown(self) -> str:
        """The name that its server gives it, for messages."""
        return visible(self.tool.original_name, 100)

    @cached_property
    def output_type(self) -> Type | None:
        """The declared type of its results, or None if the declaration says nothing."""
        return parse_schema(self.tool).output_type

    @cached_property
    def inputs(self) -> tuple[SchemaField, ...]:
        return fields_of_schema(self.tool.input_schema, "input")

    @cached_property
    def declared_outputs(self) -> tuple[SchemaField, ...]:
        wrapper = "result" if is_wrapped(self.tool.output_schema) else ""
        return fields_of_schema(self.tool.output_schema, "output", wrapper=wrapper)

    @cached_property
    def outputs(self) -> tuple[SchemaField, ...]:
        """The fields of its results: declared, or else learned."""
        if self.output_type is not None or self.evidence.schema is None:
            return self.declared_outputs
        return fields_of_schema(dict(self.evidence.schema), "output")

    @property
    def knows_outputs(self) -> bool:
        """Whether the fields of its results are known."""
        kind = self.output_type or self.evidence.type
        return bool(self.outputs) or (
            kind is not None and kind.kind in {"number", "integer", "boolean", "null"}
        )


@dataclass(frozen=True)
class LintServer:
    """The tools of one server."""

    name: str
    tools: tuple[LintTool, ...]
    duplicates: frozenset[str] = frozenset()
    """Original names that were listed more than once."""
