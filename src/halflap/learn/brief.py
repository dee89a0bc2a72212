"""A shape cut short, so that its schema is not too much to read: the deepest levels go first."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from halflap.learn.bound import cut_below
from halflap.learn.limits import DEEPEST
from halflap.learn.merge import merge_records
from halflap.learn.render import render

if TYPE_CHECKING:
    from halflap.learn.shape import Record, Shape, Tag

__all__ = ["brief"]


def brief(shape: Shape, most: int, *, enums: bool = False) -> Shape:
    """Cut a shape such that its schema, without notes, has at most so many bytes as JSON.

    Where the first level alone is too much, its variants are told as one; where that is too much, nothing is told
    of what is below.
    """
    if _size(render(shape, enums=enums, notes=False)) <= most:
        return shape
    found = replace(shape, root=cut_below(shape.root, 0), depth=0)
    records = shape.root.records
    if len(records) > 1:
        together: dict[Tag | None, Record] = {None: reduce(merge_records, records.values())}
        one = replace(shape, root=replace(shape.root, records=together, mixed=True))
        found = _deepest_of(one, found, most, last=1, enums=enums)
    return _deepest_of(shape, found, most, last=DEEPEST, enums=enums)


def _deepest_of(shape: Shape, found: Shape, most: int, *, last: int, enums: bool) -> Shape:
    # From above: what is too much is written out once, and may be very much.
    for depth in range(1, min(shape.depth, last) + 1):
        cut = replace(shape, root=cut_below(shape.root, depth), depth=depth)
        if _size(render(cut, enums=enums, notes=False)) > most:
            break
        found = cut
    return found


def _size(schema: dict[str, Any]) -> int:
    return len(json.dumps(schema, ensure_ascii=False).encode(errors="surrogatepass"))
