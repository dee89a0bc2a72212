"""What is known of one tool's results: its shapes, and what they are as a schema and as a type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.learn import OUTCOMES, Learned, brief, confidence, is_lost, merge, schema_of, type_of
from halflap.schema import is_informative

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.learn import Shape
    from halflap.learn.shape import Place, Record
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
    """Return what is known of a tool; None if no result was seen that was not an error."""
    shape = whole(learned)
    if not shape.observations:
        return None
    sure = confidence(shape, enums=enums)
    short = brief(shape, MOST_TOLD, enums=enums)
    schema = schema_of(shape, enums=enums, notes=False)
    kind = stub = None
    if sure > 0 or shape.observations >= FEWEST:
        kind = stub = type_of(shape, enums=enums, is_opaque=is_media)
        if short is not shape:
            stub = type_of(short, enums=enums, is_opaque=is_media)
    return Known(
        key,
        learned,
        schema,
        schema if short is shape else schema_of(short, enums=enums, notes=False),
        sure,
        kind if kind is not None and is_informative(kind) else None,
        stub if stub is not None and is_informative(stub) else None,
        sha256(repr(kind).encode(errors="replace")).hexdigest(),
        _has_media(shape.root),
    )


def is_media(record: Record) -> bool:
    """Return whether an object is a block that is not text, as it was noted when it passed."""
    kind = record.keys.get("type")
    if kind is None or kind.missing.times or not record.keys.keys() <= _MEDIA_KEYS:
        return False
    return bool(kind.place.values) and set(kind.place.values or ()) <= MEDIA


def _has_media(place: Place) -> bool:
    return any(map(is_media, place.records.values())) or any(map(_has_media, place.below()))
