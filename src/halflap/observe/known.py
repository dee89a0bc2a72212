"""What is known of one tool's results: its shapes, and what they are as a schema and as a type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.learn import Learned, brief, confidence, is_lost, merge, render
from halflap.learn.learned import OUTCOMES
from halflap.schema import is_informative, read_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.learn import Shape
    from halflap.schema import Type
    from halflap.store import StoredShape, ToolKey

__all__ = ["FEWEST", "IMPORTED", "MEDIA", "MOST_TOLD", "Known", "known_of", "merged", "whole"]

IMPORTED = "import:"
"""What the names of origins begin with that came from other gateways."""
MEDIA = frozenset({"image", "audio", "resource", "resource_link"})
"""The kinds of blocks that are not text: in a program they are objects of their own, not dicts."""
_MEDIA_KEYS = frozenset({"type", "mimeType", "uri", "name"})
MOST_TOLD = 20_000
"""So many bytes of JSON Schema are told of one tool; whoever wants more asks for `halflap schema show`."""
FEWEST = 3
"""So many results tell what a tool returns, though all of them answer the same arguments."""


def merged(rows: Iterable[StoredShape]) -> Learned:
    """Put together what all origins learned.

    What was imported takes nothing away: if names, variants or levels that were learned here could not be kept beside
    it, within the bounds, it is left out.
    """
    here, elsewhere = Learned(), []
    for row in rows:
        if row.origin.startswith(IMPORTED):
            elsewhere.append(row)
        else:
            here = here.merge(row.learned)
    whole = here
    for row in sorted(elsewhere, key=lambda row: row.origin):
        more = whole.merge(row.learned)
        lost = (outcome for outcome in OUTCOMES if is_lost(getattr(here, outcome), getattr(more, outcome)))
        whole = replace(more, **{outcome: getattr(whole, outcome) for outcome in lost})
    return whole


def whole(learned: Learned) -> Shape:
    """Give the shape of whatever a call gives that does not fail, structured or not."""
    return merge(learned.structured, learned.text)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a tool as it is defined now."""

    key: ToolKey
    learned: Learned
    schema: dict[str, Any]
    """JSON Schema of the value as programs see it, with `x-halflap` at the root, and where something was cut off."""
    told: dict[str, Any]
    """The same for a model to read: of what is very large, the deepest levels are cut off."""
    confidence: float
    type: Type | None
    """All of it as a type; None where it says nothing, or rests on too little."""
    stub: Type | None
    """The same for stubs and signatures, of as much as is told."""
    version: str
    """Another one for another type."""
    has_media: bool = False
    """Whether there are blocks among it that are not text: the schema has what they say of themselves."""

    @property
    def observations(self) -> int:
        """How many results there were that were no errors."""
        return self.learned.structured.observations + self.learned.text.observations

    @property
    def needed(self) -> int:
        """How many more results would tell what it returns, at most; none where there are enough."""
        return 0 if self.type is not None else max(0, FEWEST - self.observations)

    @property
    def texts(self) -> int:
        """How many of them were plain text."""
        return self.learned.text.observations

    @property
    def errors(self) -> int:
        """How many results were errors."""
        return self.learned.error.observations

    @property
    def last(self) -> float | None:
        """When the last one was seen."""
        times = [
            shape.last for shape in (self.learned.structured, self.learned.text) if shape.last is not None
        ]
        return max(times, default=None)


def known_of(key: ToolKey, learned: Learned, *, enums: bool = False) -> Known | None:
    """Say what is known; None where no result was seen that was no error."""
    shape = whole(learned)
    if not shape.observations:
        return None
    sure = confidence(shape, enums=enums)
    schema = told = render(shape, enums=enums, notes=False)
    noted = render(shape, enums=enums)
    kind = stub = None
    is_said = sure > 0 or shape.observations >= FEWEST
    if is_said:
        kind = stub = read_type(_for_programs(noted))
    short = brief(shape, MOST_TOLD, enums=enums)
    if short is not shape:
        told = render(short, enums=enums, notes=False)
        stub = read_type(_for_programs(render(short, enums=enums))) if is_said else None
    return Known(
        key,
        learned,
        schema,
        told,
        sure,
        kind if kind is not None and is_informative(kind) else None,
        stub if stub is not None and is_informative(stub) else None,
        sha256(repr(kind).encode(errors="replace")).hexdigest(),
        _has_media(noted),
    )


def _for_programs(schema: dict[str, Any]) -> Any:
    """Take out what is an object of another kind in a program, and what is only said about a place."""
    if _is_media(schema):
        return {}
    written: dict[str, Any] = {}
    for key, part in schema.items():
        if key in {"x-halflap", "$schema", "not"}:
            continue
        if key == "properties":
            written[key] = {name: _for_programs(inner) for name, inner in part.items()}
        elif key in {"items", "additionalProperties"}:
            written[key] = _for_programs(part)
        elif key == "oneOf":
            written[key] = [_for_programs(branch) for branch in part]
        else:
            written[key] = part
    return written


def _has_media(schema: dict[str, Any]) -> bool:
    if _is_media(schema):
        return True
    items, others = schema.get("items"), schema.get("additionalProperties")
    inner = [*schema.get("properties", {}).values(), *schema.get("oneOf", ()), items, others]
    return any(_has_media(one) for one in inner if isinstance(one, dict))


def _is_media(schema: dict[str, Any]) -> bool:
    """Say whether an object is a block that is not text, as it was noted when it passed."""
    fields = schema.get("properties", {})
    kind = fields.get("type")
    if kind is None or not fields.keys() <= _MEDIA_KEYS or "type" not in schema.get("required", ()):
        return False
    said = kind.get("enum") or (
        [kind["const"]] if "const" in kind else kind.get("x-halflap", {}).get("values")
    )
    return bool(said) and set(said) <= MEDIA
