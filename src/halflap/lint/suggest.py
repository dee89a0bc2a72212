"""Draft the output schema that a tool lacks, from what its results showed: as JSON Schema, and as Python types."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.text import visible
from halflap.lint.parts import parts_of
from halflap.lint.rule import counted
from halflap.schema import read_type
from halflap.schema.stub import write_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Entry, Seen, Server

__all__ = ["Draft", "Drafted", "drafted_schema", "drafts_of"]

_NOTES = frozenset({"x-halflap", "$schema"})
_OF_TEXTS = frozenset({"enum", "format", "pattern", "minLength", "maxLength", "contentEncoding"})
_LONGEST = 120
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Draft:
    """What could be declared of one tool's results; nothing where too little was seen."""

    server: str
    tool: str
    original_name: str
    observations: int
    """How many results it rests on."""
    confidence: float
    schema: dict[str, Any] | None = None
    python: str = ""
    is_wrapped: bool = False
    """Whether the results are no objects: they go under `result` then, in what is declared and in what is returned."""
    why: str = ""
    """Why there is no schema, and what to do about it."""
    left_out: str = ""
    """Which results it leaves out, and why."""
    unnamed: tuple[str, ...] = ()
    """Objects that had further keys, whose names are not kept: they look like data."""

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
            **({"unnamed": list(self.unnamed)} if self.unnamed else {}),
        }


class Drafted(NamedTuple):
    """The schema of a draft."""

    schema: dict[str, Any]
    is_wrapped: bool
    left_out: str
    observations: int
    """How many results it rests on: those that are left out do not count."""


def drafts_of(server: Server) -> Iterator[Draft]:
    """Draft what each tool lacks that declares nothing of its results; of several of one name, the first can be called."""
    names: set[str] = set()
    for one in server.entries:
        if (not one.declares_output or one.says_nothing) and one.tool.original_name not in names:
            yield _draft(server, one)
        names.add(one.tool.original_name)


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
        server.name,
        one.name,
        one.tool.original_name,
        drafted.observations,
        seen.confidence,
        schema=drafted.schema,
        python=python,
        is_wrapped=drafted.is_wrapped,
        left_out=drafted.left_out,
        unnamed=tuple(islice(_unnamed(drafted.schema, "the result"), _MOST_NAMED)),
    )


def drafted_schema(one: Entry) -> Drafted | None:
    """Draft the schema of a tool's results from what was seen of them, if that was enough."""
    if one.seen.schema is None:
        return None
    bare, errors = _without_errors(one.seen, _without_notes(dict(one.seen.schema)))
    left_out = "" if not errors else _left_out(one.seen, errors)
    rests_on = max(1, one.seen.observations - errors)
    # The protocol wants an object: anything else goes under `result`, as the libraries do it.
    wraps = bare.get("type") != "object" and not _only_objects(bare)
    if wraps:
        bare = {"properties": {"result": bare}, "required": ["result"]}
    return Drafted({"type": "object", **bare}, wraps, left_out, rests_on)


def _without_errors(seen: Seen, schema: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Leave out texts, where all that are on record told of errors: those should be marked, and not be promised.

    Says how many results that leaves out.
    """
    kinds = schema.get("type")
    if not seen.failed_texts or seen.texts or not isinstance(kinds, list) or "string" not in kinds:
        return schema, 0
    left = [kind for kind in kinds if kind != "string"]
    told = {key: part for key, part in schema.items() if key not in _OF_TEXTS}
    # More may have been seen than is on record still.
    return {**told, "type": left[0] if len(left) == 1 else left}, max(seen.failed_texts, seen.observed_texts)


def _left_out(seen: Seen, errors: int) -> str:
    shown = visible(next(iter(seen.failures), ""), _LONGEST)
    return f"{counted(errors, 'result')} that told of an error as text (“{shown}”): mark such results with `isError`."


def _unnamed(schema: Any, where: str) -> Iterator[str]:
    """Give the objects of a draft that have keys of which only the values were learned, beside those that are named."""
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    extra = schema.get("additionalProperties")
    if properties and isinstance(extra, dict):
        yield where
    for name, inner in (properties or {}).items():
        yield from _unnamed(inner, f"{where} → {visible(name, _LONGEST)}")
    for inner in (schema.get("items"), extra, *schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _unnamed(inner, where)


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
