"""Draft the output schema that a tool lacks, from what its results showed: as JSON Schema, and as Python types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.schema.stub import write_types
from halflap.schema.types import read_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Entry, Server

__all__ = ["Draft", "drafts_of"]

_NOTES = frozenset({"x-halflap", "$schema"})


@dataclass(frozen=True, slots=True)
class Draft:
    """What could be declared of one tool's results; nothing where too little was seen."""

    server: str
    tool: str
    original_name: str
    observations: int
    confidence: float
    schema: dict[str, Any] | None = None
    python: str = ""
    is_wrapped: bool = False
    """Whether the results are no objects: they go under `result` then, in what is declared and in what is returned."""
    why: str = ""
    """Why there is no schema, and what to do about it."""

    def to_json(self) -> dict[str, Any]:
        """Give it as `--json` has it."""
        told: dict[str, Any] = {
            "server": self.server,
            "tool": self.tool,
            "observations": self.observations,
            "confidence": round(self.confidence, 4),
        }
        if self.schema is None:
            return {**told, "why": self.why}
        return {
            **told,
            "patch": {"outputSchema": self.schema},
            "python": self.python,
            "wrapped": self.is_wrapped,
        }


def drafts_of(server: Server) -> Iterator[Draft]:
    """Draft what each tool lacks that declares nothing of its results."""
    for one in server.entries:
        if not one.declares_output:
            yield _draft(server, one)


def _draft(server: Server, one: Entry) -> Draft:
    seen = one.seen
    about = (server.name, one.name, one.tool.original_name, seen.observations, seen.confidence)
    if seen.schema is None:
        if seen.observations:
            times = "once" if seen.observations == 1 else f"{seen.observations} times"
            return Draft(
                *about,
                why=f"Its results were seen {times}, which is too little. Call it with other arguments, too.",
            )
        return Draft(
            *about,
            why="Nothing was learned of it yet. Call it through Halflap (`halflap call`, `halflap run`), or read logs of its "
            "results with `halflap backfill`.",
        )
    bare = _without_notes(dict(seen.schema))
    # The protocol wants an object: anything else goes under `result`, as the libraries do it.
    wraps = bare.get("type") != "object" and not _only_objects(bare)
    schema = {"type": "object", "properties": {"result": bare}, "required": ["result"]} if wraps else bare
    python = write_types(f"{one.tool.original_name} result", read_type(schema))
    return Draft(*about, schema=schema, python=python, is_wrapped=wraps)


def _only_objects(schema: dict[str, Any]) -> bool:
    choices = schema.get("oneOf")
    return isinstance(choices, list) and all(
        isinstance(one, dict) and one.get("type") == "object" for one in choices
    )


def _without_notes(schema: dict[str, Any]) -> dict[str, Any]:
    """Take out what only says how something was learned: it is no part of a promise."""
    written: dict[str, Any] = {}
    for key, part in schema.items():
        if key in _NOTES:
            continue
        if key == "properties":
            written[key] = {name: _without_notes(inner) for name, inner in part.items()}
        elif isinstance(part, dict):
            written[key] = _without_notes(part)
        elif key in {"oneOf", "anyOf"}:
            written[key] = [_without_notes(one) for one in part]
        else:
            written[key] = part
    return written
