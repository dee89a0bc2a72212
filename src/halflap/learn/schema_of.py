"""A shape as JSON Schema 2020-12: everything that was seen validates against it, and little else."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from halflap.learn.confidence import confidence
from halflap.learn.formats import FORMATS
from halflap.learn.merge import cut_below, merge_records
from halflap.learn.shape import DEEPEST, KINDS
from halflap.learn.variants import repeated_values, variants_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.learn.shape import Place, Record, Shape
    from halflap.learn.variants import Variant

__all__ = ["brief", "kinds_of", "schema_of"]

_Schema = dict[str, Any]


def schema_of(shape: Shape, *, enums: bool = False, notes: bool = True) -> dict[str, Any]:
    """Return the JSON Schema of a shape.

    With `enums`, few strings that repeat are enumerated, where values were kept. Without `notes`, only the root has
    an `x-halflap`, and places below which something was cut off.
    """
    about: _Schema = {
        "observations": shape.observations,
        "confidence": round(confidence(shape, enums=enums), 4),
        "firstSeen": _time(shape.first),
        "lastSeen": _time(shape.last),
    }
    schema = _Writer(enums=enums, notes=notes).place(shape.root)
    schema["x-halflap"] = {**about, **schema.get("x-halflap", {}), "observations": shape.observations}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def kinds_of(place: Place) -> list[str]:
    """Return the kinds seen at a place, in order; integers among other numbers are numbers."""
    return [
        kind for kind in KINDS if kind in place.kinds and not (kind == "integer" and "number" in place.kinds)
    ]


def brief(shape: Shape, most: int, *, enums: bool = False) -> Shape:
    """Cut a shape so that its schema, without notes, has at most so many bytes of JSON.

    The deepest levels go first. If the first level alone is too much, its variants become one record; if that is too
    much, only the kinds at the root are left.
    """
    if _size(shape, enums=enums) <= most:
        return shape
    found = replace(shape, root=cut_below(shape.root, 0), depth=0)
    records = shape.root.records
    if len(records) > 1:
        root = replace(shape.root, records={None: reduce(merge_records, records.values())}, mixed=True)
        found = _deepest(replace(shape, root=root), found, most, last=1, enums=enums)
    return _deepest(shape, found, most, last=DEEPEST, enums=enums)


def _deepest(shape: Shape, found: Shape, most: int, *, last: int, enums: bool) -> Shape:
    # From above: what is too large is then written only once.
    for depth in range(1, min(shape.depth, last) + 1):
        cut = replace(shape, root=cut_below(shape.root, depth), depth=depth)
        if _size(cut, enums=enums) > most:
            break
        found = cut
    return found


def _size(shape: Shape, *, enums: bool) -> int:
    schema = schema_of(shape, enums=enums, notes=False)
    return len(json.dumps(schema, ensure_ascii=False).encode(errors="surrogatepass"))


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

    def place(self, place: Place, about: _Schema | None = None) -> _Schema:
        kinds = kinds_of(place)
        variants = variants_of(place) if "object" in kinds else []
        schema: _Schema
        if "other" in kinds:
            schema = {}
        elif len(variants) > 1:
            schema = {"anyOf": self._branches(variants)}
            others = [kind for kind in kinds if kind != "object"]
            if others:
                schema["anyOf"].append(self._plain(place, others))
        else:
            schema = self._plain(place, kinds)
            for variant in variants:
                schema |= self._object(variant.record)
        if self._notes:
            schema["x-halflap"] = {**(about or {}), "observations": place.count, **_marks(place)}
        elif place.cut:
            schema["x-halflap"] = {"cut": ["depth"]}
        return schema

    def _plain(self, place: Place, kinds: list[str]) -> _Schema:
        if not kinds:
            return {}
        schema: _Schema = {"type": kinds[0] if len(kinds) == 1 else kinds}
        if place.formats is not None and place.formats.kept:
            schema["format"] = FORMATS[place.formats.kept.bit_length() - 1]
        if "array" in kinds and place.items is not None:
            schema["items"] = self.place(place.items)
        if self._enums and set(kinds) <= {"string", "null"}:
            values = repeated_values(place)
            if values:
                schema["enum"] = [*values, *([None] if "null" in kinds else [])]
        return schema

    def _object(self, record: Record) -> _Schema:
        schema: _Schema = {}
        if record.keys:
            schema["properties"] = {
                name: self.place(key.place, {"presence": round(key.place.count / record.seen.times, 4)})
                for name, key in sorted(record.keys.items())
            }
            required = [name for name, key in sorted(record.keys.items()) if not key.missing.times]
            if required:
                schema["required"] = required
        if record.rest is not None:
            schema["additionalProperties"] = self.place(record.rest)
        return schema

    def _branches(self, variants: list[Variant]) -> list[_Schema]:
        """Write each variant, and what is known of objects whose tag has a value not seen yet."""
        known: dict[str, list[Any]] = {}
        for variant in variants:
            if variant.key is not None:
                known[variant.key] = [*known.get(variant.key, ()), *sorted(variant.values, key=repr)]
        branches = []
        for variant in variants:
            schema = self._object(variant.record)
            if variant.key is None:
                others = {key: {"not": {"enum": values}} for key, values in known.items()}
                schema["properties"] = {**others, **schema.get("properties", {})}
            else:
                values = sorted(variant.values, key=repr)
                tag = {"const": values[0]} if len(values) == 1 else {"enum": values}
                schema = _tagged(schema, variant.key, tag)
            notes = {"x-halflap": {"observations": variant.record.seen.times}} if self._notes else {}
            branches.append({"type": "object", **schema, **notes})
        return [*branches, *self._unseen(variants, known)]

    def _unseen(self, variants: list[Variant], known: dict[str, list[Any]]) -> Iterator[_Schema]:
        """Write what is common to all variants, one level deep: of another kind of object nothing else is known."""
        together = reduce(merge_records, (variant.record for variant in variants))
        shallow = {name: key._replace(place=cut_below(key.place, 0)) for name, key in together.keys.items()}
        rest = None if together.rest is None else cut_below(together.rest, 0)
        common = self._object(replace(together, keys=shallow, rest=rest))
        for key, values in known.items():
            kinds = sorted({"boolean" if type(value) is bool else "string" for value in values})
            if kinds != ["boolean"] or len(values) == 1:
                tag = {"type": kinds[0] if len(kinds) == 1 else kinds, "not": {"enum": values}}
                yield {"type": "object", **_tagged(common, key, tag)}


def _tagged(schema: _Schema, key: str, tag: _Schema) -> _Schema:
    # A crowded record requires nothing, and would accept objects without a tag.
    required = sorted({*schema.get("required", ()), key})
    return {**schema, "properties": {**schema.get("properties", {}), key: tag}, "required": required}


def _marks(place: Place) -> _Schema:
    """Note what the schema cannot say: where a shape was cut, which values there were."""
    causes = {
        "depth": place.cut,
        "variants": place.mixed,
        "keys": any(record.crowded for record in place.records.values()),
    }
    marks: _Schema = (
        {"cut": [cause for cause, holds in causes.items() if holds]} if any(causes.values()) else {}
    )
    if place.values:
        marks["values"] = sorted(place.values, key=repr)
    return marks
