"""Draft the output schema that a tool lacks, from what its results showed: as JSON Schema, and as Python types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.lint.parts import parts_of
from halflap.schema.clean import visible
from halflap.schema.stub import write_types
from halflap.schema.types import read_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Entry, Seen, Server

__all__ = ["Draft", "Drafted", "drafted_schema", "drafts_of"]

_NOTES = frozenset({"x-halflap", "$schema"})
_OF_TEXTS = frozenset({"enum", "format", "pattern", "minLength", "maxLength", "contentEncoding"})
_LONGEST = 120


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
    left_out: str = ""
    """Which results it leaves out, and why."""

    def to_json(self) -> dict[str, Any]:
        """Give it as `--json` has it."""
        told: dict[str, Any] = {
            "server": self.server,
            "tool": self.tool,
            "originalName": self.original_name,
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
            **({"leftOut": self.left_out} if self.left_out else {}),
        }


class Drafted(NamedTuple):
    """The schema of a draft."""

    schema: dict[str, Any]
    is_wrapped: bool
    left_out: str


def drafts_of(server: Server) -> Iterator[Draft]:
    """Draft what each tool lacks that declares nothing of its results."""
    for one in server.entries:
        if not one.declares_output:
            yield _draft(server, one)


def _draft(server: Server, one: Entry) -> Draft:
    seen = one.seen
    about = (server.name, one.name, one.tool.original_name, seen.observations, seen.confidence)
    drafted = drafted_schema(one)
    if drafted is None:
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
    python = "\n\n".join(
        [
            *filter(None, [_forms(drafted.schema)]),
            write_types(f"{one.tool.original_name} result", read_type(drafted.schema)),
        ]
    )
    return Draft(
        *about,
        schema=drafted.schema,
        python=python,
        is_wrapped=drafted.is_wrapped,
        left_out=drafted.left_out,
    )


def drafted_schema(one: Entry) -> Drafted | None:
    """Draft the schema of a tool's results from what was seen of them, if that was enough."""
    if one.seen.schema is None:
        return None
    bare, left_out = _without_errors(one.seen, _without_notes(dict(one.seen.schema)))
    # The protocol wants an object: anything else goes under `result`, as the libraries do it.
    wraps = bare.get("type") != "object" and not _only_objects(bare)
    if wraps:
        return Drafted(
            {"type": "object", "properties": {"result": bare}, "required": ["result"]}, wraps, left_out
        )
    return Drafted({"type": "object", **bare}, wraps, left_out)


def _without_errors(seen: Seen, schema: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Leave out texts, where all that are on record told of errors: those should be marked, and not be promised."""
    kinds = schema.get("type")
    if not seen.failed_texts or seen.texts or not isinstance(kinds, list) or "string" not in kinds:
        return schema, ""
    left = [kind for kind in kinds if kind != "string"]
    told = {key: part for key, part in schema.items() if key not in _OF_TEXTS}
    results = "1 result" if seen.failed_texts == 1 else f"{seen.failed_texts} results"
    shown = visible(next(iter(seen.failures), ""), _LONGEST)
    return (
        {**told, "type": left[0] if len(left) == 1 else left},
        f"{results} that told of an error as text (“{shown}”): mark such results with `isError`.",
    )


def _forms(schema: dict[str, Any]) -> str:
    """Write down which texts have a form: the types of Python have no word for that."""
    told = [
        f"# {part.where.removeprefix('output.')}: {visible(str(part.said['format']), _LONGEST)}"
        for part in parts_of(schema, "output")
        if part.said.get("format")
    ]
    return "\n".join(["# Forms of texts:", *told]) if told else ""


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
