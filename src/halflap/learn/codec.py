"""Shapes as JSON, with a version. Equal shapes are written identically."""

from __future__ import annotations

from functools import reduce
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError

from halflap.core.errors import ShapeError, ShapeTooNewError
from halflap.learn.formats import FORMATS
from halflap.learn.merge import bounded, merge_optional, merge_records
from halflap.learn.names import is_name, is_tag_value
from halflap.learn.shape import (
    DEEPEST,
    KINDS,
    LONGEST_TEXT,
    MOST_DIGESTS,
    MOST_KEYS,
    MOST_VALUES,
    MOST_VARIANTS,
    Key,
    Place,
    Record,
    Sample,
    Shape,
    Tag,
    Tally,
)

VERSION = 1
_MOST_COUNTED = 10**15
_LATEST = 10**12
_LONGEST_PATH = 500


def to_json(shape: Shape) -> dict[str, Any]:
    return {
        "version": VERSION,
        "observations": shape.observations,
        "first": shape.first,
        "last": shape.last,
        "depth": shape.depth,
        "sample": [_hex(digest) for digest in shape.sample.digests],
        "root": _place(shape.root),
    }


def _hex(digest: int) -> str:
    return f"{digest:016x}"


def _tally(tally: Tally) -> Any:
    return tally.times if tally.once is None else [tally.times, _hex(tally.once)]


def _place(place: Place) -> dict[str, Any]:
    data: dict[str, Any] = {
        "kinds": {kind: _tally(place.kinds[kind]) for kind in KINDS if kind in place.kinds}
    }
    if place.format is not None:
        data["formats"] = [place.format] if place.format else []
    if place.values is None:
        data["values"] = None
    elif place.values:
        data["values"] = [[value, _tally(place.values[value])] for value in sorted(place.values)]
    if place.items is not None:
        data["items"] = _place(place.items)
    if place.records:
        data["records"] = [_record(tag, place.records[tag]) for tag in sorted(place.records, key=repr)]
    data.update({name: True for name in ("mixed", "cut") if getattr(place, name)})
    return data


def _record(tag: Tag | None, record: Record) -> dict[str, Any]:
    data: dict[str, Any] = {"seen": _tally(record.seen)}
    if tag is not None:
        data["tag"] = list(tag)
    if record.keys:
        data["keys"] = {
            name: [_place(key.place), _tally(key.missing)] for name, key in sorted(record.keys.items())
        }
    if record.rest is not None:
        data["rest"] = _place(record.rest)
    if record.crowded:
        data["crowded"] = True
    return data


def from_json(data: Any, where: str = "") -> Shape:
    """Read an untrusted shape; `where` begins the paths in errors.

    Raises `ShapeTooNewError` for a newer version, `ShapeError` for anything that no version wrote.
    """
    version = data.get("version") if isinstance(data, dict) else None
    if type(version) is not int or version < 1:
        raise ShapeError(f"{where or 'This'} is not a learned shape: it has no known version.")
    if version > VERSION:
        raise ShapeTooNewError(
            f"This learned shape is of version {version}, and this Halflap reads up to {VERSION}. "
            "Update Halflap to use it."
        )
    try:
        shape = _ShapeForm.model_validate(data).read()
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path = ".".join(map(str, [*([where] if where else []), *problem["loc"]]))[:_LONGEST_PATH]
        raise ShapeError(f"The shape cannot be read: {path or 'it'}: {problem['msg']}.") from None
    if bounded(shape) != shape:
        raise ShapeError(f"The shape cannot be read: {where or 'it'} has more places than are ever kept.")
    return shape


_Count = Annotated[StrictInt, Field(ge=0, le=_MOST_COUNTED)]
_Seen = Annotated[StrictInt, Field(ge=1, le=_MOST_COUNTED)]
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
_Times = _Seen | tuple[_Seen, _Digest]
_Text = Annotated[str, Field(strict=True, max_length=LONGEST_TEXT)]
_Time = Annotated[float, Field(strict=True, ge=-_LATEST, le=_LATEST)] | None


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, defer_build=True)


class _PlaceForm(_Form):
    kinds: dict[Literal[KINDS], _Times]  # type: ignore[valid-type]  # type checkers do not follow the name
    formats: Annotated[list[str], Field(max_length=1)] | None = None
    values: Annotated[list[tuple[_Text, _Times]], Field(max_length=MOST_VALUES)] | None = []
    items: _PlaceForm | None = None
    records: Annotated[list[_RecordForm], Field(max_length=MOST_VARIANTS)] = []
    mixed: StrictBool = False
    cut: StrictBool = False

    def read(self, left: int) -> Place:
        if left < 0:
            raise ShapeError("The shape cannot be read: it is deeper than its `depth`.")
        records: dict[Tag | None, Record] = {}
        for form in self.records:
            # A tag by the rules of an earlier version, or of another gateway, may be data by ours.
            tag = Tag(*form.tag) if form.tag is not None and is_tag_value(form.tag[1]) else None
            records[tag] = merge_records(records.get(tag, Record()), form.read(left - 1))
        return Place(
            kinds={kind: _read_tally(times) for kind, times in self.kinds.items()},
            # Another version may know other formats.
            format=None if self.formats is None else "".join(one for one in self.formats if one in FORMATS),
            values=None if self.values is None else {one: _read_tally(times) for one, times in self.values},
            items=None if self.items is None else self.items.read(left - 1),
            records=records,
            mixed=self.mixed,
            cut=self.cut,
        )


class _RecordForm(_Form):
    seen: _Times
    tag: tuple[_Text, _Text | StrictBool] | None = None
    keys: Annotated[
        dict[str, tuple[_PlaceForm, _Count | tuple[_Count, _Digest]]], Field(max_length=MOST_KEYS)
    ] = {}
    rest: _PlaceForm | None = None
    crowded: StrictBool = False

    def read(self, left: int) -> Record:
        keys = {name: Key(form.read(left), _read_tally(times)) for name, (form, times) in self.keys.items()}
        # As with tags, a name may now be data.
        data = [key.place for name, key in keys.items() if not is_name(name)]
        names = {name: key for name, key in keys.items() if is_name(name)}
        rest = reduce(merge_optional, data, None if self.rest is None else self.rest.read(left))
        return Record(_read_tally(self.seen), names, rest, self.crowded)


class _ShapeForm(_Form):
    observations: _Count
    first: _Time
    last: _Time
    depth: Annotated[StrictInt, Field(ge=0, le=DEEPEST)]
    sample: Annotated[list[_Digest], Field(max_length=MOST_DIGESTS)]
    root: _PlaceForm

    def read(self) -> Shape:
        sample = Sample.of(int(digest, 16) for digest in self.sample)
        return Shape(self.root.read(self.depth), self.observations, sample, self.first, self.last, self.depth)


def _read_tally(times: int | tuple[int, str]) -> Tally:
    return Tally(times, None) if isinstance(times, int) else Tally(times[0], int(times[1], 16))
