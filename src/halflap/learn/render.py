"""From a shape to JSON Schema 2020-12: what every value that was seen fits, and little else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from halflap.learn.confidence import confidence
from halflap.learn.formats import FORMATS
from halflap.learn.shape import KINDS
from halflap.learn.variants import repeated_values, variants_of

if TYPE_CHECKING:
    from halflap.learn.shape import Place, Record, Shape
    from halflap.learn.variants import Variant

__all__ = ["render"]

_Schema = dict[str, Any]


def render(shape: Shape, *, enums: bool = False, notes: bool = True) -> dict[str, Any]:
    """Write a shape as a schema.

    With `enums`, small repeated strings are enumerated, where they were kept. Without `notes`, only the root has
    its `x-halflap`, and places below which something was cut off.
    """
    about: _Schema = {
        "observations": shape.observations,
        "confidence": round(confidence(shape, enums=enums), 4),
        "firstSeen": _time(shape.first),
        "lastSeen": _time(shape.last),
    }
    schema = _Writer(enums=enums, notes=notes).schema_of(shape.root)
    schema["x-halflap"] = {**about, **schema.get("x-halflap", {}), "observations": shape.observations}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


class _Writer:
    def __init__(self, *, enums: bool, notes: bool) -> None:
        self._enums = enums
        self._notes = notes

    def schema_of(self, place: Place, about: _Schema | None = None) -> _Schema:
        types = [kind for kind in KINDS if kind in place.kinds]
        if "number" in types and "integer" in types:
            types.remove("integer")
        variants = variants_of(place) if "object" in types and not place.mixed else []
        schema: _Schema = {}
        if len(variants) > 1:
            others = [kind for kind in types if kind != "object"]
            branches = [self._branch(variant, variants[:at]) for at, variant in enumerate(variants)]
            if others:
                branches.append(self._plain(place, others))
            schema["oneOf"] = branches
            if "other" in types:
                schema = {}
        else:
            schema = self._plain(place, types)
            if "object" in types:
                for variant in variants or variants_of(place):
                    schema.update(self._object(variant.record))
        if self._notes:
            schema["x-halflap"] = {**(about or {}), "observations": place.count, **_marks(place)}
        elif place.cut:
            schema["x-halflap"] = {"cut": ["depth"]}
        return schema

    def _plain(self, place: Place, types: list[str]) -> _Schema:
        """Write what holds of anything but objects."""
        if not types or "other" in types:
            return {}
        schema: _Schema = {"type": types[0] if len(types) == 1 else types}
        if place.formats is not None and place.formats.kept:
            schema["format"] = FORMATS[place.formats.kept.bit_length() - 1]
        if "array" in types and place.items is not None:
            schema["items"] = self.schema_of(place.items)
        if self._enums and set(types) <= {"string", "null"}:
            values = repeated_values(place)
            if values:
                schema["enum"] = [*values, *([None] if "null" in types else [])]
        return schema

    def _object(self, record: Record) -> _Schema:
        schema: _Schema = {}
        if record.keys:
            schema["properties"] = {
                name: self.schema_of(key.place, {"presence": round(key.place.count / record.seen.times, 4)})
                for name, key in sorted(record.keys.items())
            }
            required = [name for name, key in sorted(record.keys.items()) if not key.missing.times]
            if required:
                schema["required"] = required
        if record.rest is not None:
            schema["additionalProperties"] = self.schema_of(record.rest)
        return schema

    def _branch(self, variant: Variant, before: list[Variant]) -> _Schema:
        """Write one of several variants, such that no object is of two."""
        schema = {"type": "object", **self._object(variant.record)}
        if variant.key is not None:
            values = sorted(variant.values, key=repr)
            tag = {"const": values[0]} if len(values) == 1 else {"enum": values}
            schema["properties"] = {**schema.get("properties", {}), variant.key: tag}
            # Where there were too many keys to require any, what has no tag would fit this and its own variant.
            schema["required"] = sorted({*schema.get("required", ()), variant.key})
        others = [one for one in before if one.key is not None and one.key != variant.key]
        if others:
            # An object has the first tag that it can have: what has none before this has none of theirs.
            schema["not"] = {"anyOf": [_tagged(one) for one in others]}
        if self._notes:
            schema["x-halflap"] = {"observations": variant.record.seen.times}
        return schema


def _tagged(variant: Variant) -> _Schema:
    values = sorted(variant.values, key=repr)
    return {"required": [variant.key], "properties": {variant.key: {"enum": values}}}


def _marks(place: Place) -> _Schema:
    """Say what the schema cannot: where a shape was cut, what values and lengths there were."""
    cut = [
        mark
        for mark, holds in (
            ("depth", place.cut),
            ("variants", place.mixed),
            ("keys", any(record.crowded for record in place.records.values())),
        )
        if holds
    ]
    marks: _Schema = {"cut": cut} if cut else {}
    if place.lengths is not None:
        marks["lengths"] = list(place.lengths)
    if place.values:
        marks["values"] = sorted(place.values, key=repr)
    return marks
