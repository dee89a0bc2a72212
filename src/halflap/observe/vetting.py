"""Whether a shape that came from elsewhere can have been observed at all: its counts, its keys, its values, its times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from halflap.core.errors import ShapeBrokenError
from halflap.learn import OUTCOMES, Learned
from halflap.learn.names import TAG_KEYS, is_tag_value
from halflap.learn.shape import (
    DEEPEST,
    LONGEST_VALUE,
    MOST_DIGESTS,
    MOST_KEYS,
    MOST_VARIANTS,
    NEVER,
    NOTHING,
    Key,
    Place,
    Record,
    Shape,
)
from halflap.schema import path_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.learn import Outcome
    from halflap.learn.shape import Scalar, Tag, Tally

__all__ = ["vetted"]

_SKEW_SECONDS = 86_400.0
"""So far may another machine's clock be ahead of ours."""
_ESTIMATE = 2
"""How many arguments there were is estimated where they are many, and never as far off as this."""


def vetted(learned: Learned, *, values: bool, now: float) -> Learned:
    """Give what came from elsewhere as it may be kept; raises `ShapeBrokenError`, with where, if it cannot be true.

    Keys and tags that are data by our rules are gone already, when it was read: whoever wrote it may have had other
    rules. `values` says whether it may have values beside those under tag keys.
    """
    shapes: dict[str, Shape] = {}
    for outcome in OUTCOMES:
        shape: Shape = getattr(learned, outcome)
        if shape != NOTHING:
            shapes[outcome] = _Vetting(shape, values=values).shape(outcome, now)
    if not shapes:
        raise ShapeBrokenError("There is nothing in it that was observed.")
    return Learned(**shapes)


def _refuse(where: str, what: str) -> NoReturn:
    raise ShapeBrokenError(f"{where} {what}.")


class _Vetting:
    """One shape, looked at place by place."""

    def __init__(self, shape: Shape, *, values: bool) -> None:
        self._shape = shape
        self._values = values
        self._cuts = 0
        # Beyond so many, not all are there.
        self._digests = frozenset(shape.sample.digests) if len(shape.sample.digests) < MOST_DIGESTS else None

    def shape(self, outcome: Outcome, now: float) -> Shape:
        shape = self._shape
        if not shape.observations:
            _refuse(f"{outcome}.observations", "are none, but there is a shape")
        if not 1 <= len(shape.sample.digests) <= shape.observations:
            _refuse(f"{outcome}.sample", "has more arguments than there were results, or none")
        if shape.sample.size() > _ESTIMATE * shape.observations:
            _refuse(f"{outcome}.sample", "stands for far more arguments than there were results")
        self._times(outcome, now)
        kinds = shape.root.kinds.keys()
        if outcome != "error" and (
            (outcome == "text") != ("string" in kinds) or (outcome == "text" and len(kinds) > 1)
        ):
            _refuse(f"{outcome}.root", "is of another outcome: plain texts stand apart")
        if shape.root.count != shape.observations:
            _refuse(
                f"{outcome}.root",
                f"was seen {shape.root.count} times, in {shape.observations} results",
            )
        if not shape.depth:
            _refuse(f"{outcome}.depth", "is none: there is never too much right below a result")
        root = self._place(shape.root, f"{outcome}.root", shape.depth)
        if shape.depth < DEEPEST and not self._cuts:
            _refuse(f"{outcome}.depth", f"is {shape.depth}, but nothing was cut off there")
        return replace(shape, root=root)

    def _times(self, outcome: Outcome, now: float) -> None:
        first, last = self._shape.first, self._shape.last
        if (first is None) != (last is None):
            _refuse(outcome, "has a first time and no last, or a last and no first")
        if first is None or last is None:
            return
        if first < 0:
            _refuse(f"{outcome}.first", "is before 1970")
        if last > now + _SKEW_SECONDS:
            _refuse(f"{outcome}.last", "is in the future")
        if first > last:
            _refuse(f"{outcome}.first", "is later than the last")

    def _place(self, place: Place, where: str, left: int, name: str | None = None) -> Place:
        if not place.count:
            _refuse(where, "was never seen")
        for kind, tally in place.kinds.items():
            self._tally(tally, f"{where}.kinds.{kind}")
        self._texts(place, where, name)
        self._arrays(place, where, left)
        self._objects(place, where, left)
        if place.cut:
            if left:
                _refuse(where, "is cut where it need not be: there is more below other places")
            self._cuts += 1
        return replace(
            place,
            items=None if place.items is None else self._place(place.items, f"{where}[]", left - 1),
            records={tag: self._record(record, where, left - 1) for tag, record in place.records.items()},
        )

    def _tally(self, tally: Tally, where: str) -> None:
        if tally.once is not None and not tally.times:
            _refuse(where, "was never seen, but with some arguments")
        if tally.once is not None and self._digests is not None and tally.once not in self._digests:
            _refuse(where, "was seen with arguments that there were not")
        fewest = min(tally.times, len(self._shape.sample.digests))
        if tally.once is None and tally.times and fewest == 1:
            _refuse(where, "was seen once, or with one set of arguments alone, and with several")

    def _texts(self, place: Place, where: str, name: str | None) -> None:
        strings = place.kinds.get("string", NEVER).times
        if bool(strings) != (place.formats is not None):
            _refuse(f"{where}.formats", "are there without texts, or texts without formats")
        if place.formats is not None and place.formats.kept.bit_count() > 1:
            _refuse(f"{where}.formats", "are several at once")
        if place.values is None:
            return
        is_tag = name in TAG_KEYS
        for value, tally in place.values.items():
            if not (is_tag and is_tag_value(value)):
                self._text(value, f"{where}.values")
            self._tally(tally, f"{where}.values")
        words = sum(tally.times for value, tally in place.values.items() if type(value) is str)
        if words != strings:
            _refuse(f"{where}.values", f"were seen {words} times, among {strings} texts")
        truths = sum(tally.times for value, tally in place.values.items() if type(value) is bool)
        if is_tag and truths != place.kinds.get("boolean", NEVER).times:
            _refuse(f"{where}.values", "do not add up to the booleans there")

    def _text(self, value: Scalar, where: str) -> None:
        if type(value) is bool or not self._values:
            _refuse(where, "has a value that is not kept: only words under tag keys are")
        if len(str(value)) > LONGEST_VALUE or not str(value).isprintable():
            _refuse(where, "has a text that is not kept: too long, or with control characters")

    @staticmethod
    def _arrays(place: Place, where: str, left: int) -> None:
        arrays = place.kinds.get("array", NEVER).times
        if bool(arrays) != (place.lengths is not None) or (place.items is not None and not arrays):
            _refuse(f"{where}.lengths", "are there without arrays, or arrays without lengths")
        if place.lengths is None:
            return
        shortest, longest = place.lengths
        if shortest > longest or (arrays == 1 and shortest != longest):
            _refuse(f"{where}.lengths", "do not fit each other")
        if place.items is None and (place.cut or not left):
            return
        count = 0 if place.items is None else place.items.count
        fewest, most = (arrays - 1) * shortest + longest, (arrays - 1) * longest + shortest
        if not fewest <= count <= most:
            _refuse(
                f"{where}[]",
                f"was seen {count} times, in {arrays} arrays of {shortest} to {longest} items",
            )

    @staticmethod
    def _objects(place: Place, where: str, left: int) -> None:
        objects = place.kinds.get("object", NEVER).times
        seen = sum(record.seen.times for record in place.records.values())
        if seen != objects and (place.records or not (place.cut or not left)):
            _refuse(f"{where}.records", f"were seen {seen} times, among {objects} objects")
        if place.mixed:
            _mixed(place.records, f"{where}.records")
        for tag, record in place.records.items():
            if tag is not None:
                _tagged(tag, record, f"{where}.records")

    def _record(self, record: Record, where: str, left: int) -> Record:
        self._tally(record.seen, f"{where}.seen")
        if record.crowded and record.keys:
            _refuse(where, "has names for keys, and too many to have any")
        if record.crowded and (record.rest is None or record.rest.count <= MOST_KEYS):
            _refuse(where, f"has too many keys to tell them apart, but not {MOST_KEYS + 1} of them")
        keys: dict[str, Key] = {}
        for name, key in record.keys.items():
            step = path_of([name])
            inner = f"{where}{step}" if step.startswith("[") else f"{where}.{step}"
            self._tally(key.missing, f"{inner} missing")
            if key.place.count + key.missing.times != record.seen.times:
                _refuse(
                    inner,
                    f"was seen {key.place.count} times and missing {key.missing.times} times, in "
                    f"{record.seen.times} objects",
                )
            keys[name] = Key(self._place(key.place, inner, left, name), key.missing)
        rest = record.rest
        return replace(
            record, keys=keys, rest=None if rest is None else self._place(rest, f"{where}[key]", left)
        )


def _mixed(records: Mapping[Tag | None, Record], where: str) -> None:
    """Look at objects that had too many tags to be told apart."""
    if set(records) != {None}:
        _refuse(where, "are apart by tags, and mixed")
    record = records[None]
    # All but one had a tag, each another.
    tagged = sum(key.place.count for name, key in record.keys.items() if name in TAG_KEYS)
    if record.seen.times <= MOST_VARIANTS or (not record.crowded and tagged < MOST_VARIANTS):
        _refuse(where, f"are mixed, but do not have more than {MOST_VARIANTS} tags")


def _tagged(tag: Tag, record: Record, where: str) -> None:
    """Look at objects that say by a tag what they are: all of them say so, and say nothing else."""
    if tag.key not in TAG_KEYS:
        _refuse(where, "has a tag under a key that is no tag key")
    key = record.keys.get(tag.key)
    if record.crowded:
        return
    if key is None or key.missing.times:
        _refuse(where, f"has objects with the tag {tag.key} that lack it")
    kind = "boolean" if type(tag.value) is bool else "string"
    if set(key.place.kinds) != {kind} or key.place.values is None or set(key.place.values) != {tag.value}:
        _refuse(where, f"has objects with the tag {tag.key} that say something else there")
