"""Questions to ty about the values in a program, asked by assertions put around them.

`assert_type(question(value), Yes)` passes only if every type that the value may have is among those of the question:
of what may be `Any`, ty does not know which overload it gets. So the answer is whether ty objects at that place,
whatever it calls that. A control that must fail shows that ty looked at the place at all.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING

from halflap.sandbox.check.inside.edits import EditedText, Place, Wrap

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["Probes"]

_MAX_PROBES = 2_000
_NAMES = """
from typing import assert_type as assert_type
from collections.abc import Awaitable, Coroutine, Sequence
class HalflapYes: ...
class HalflapNo: ...
class HalflapControl: ...
"""
Types = tuple[str, ...]


class Probes:
    """The questions about one program, and the answers."""

    def __init__(self) -> None:
        self._functions: dict[tuple[Types, Types], str] = {}
        self._asked: dict[Place, dict[str, int]] = {}
        self._count = 0
        self._failed: dict[Place, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._asked)

    def all_are(self, place: Place, types: Types, *, but: Types = ()) -> bool:
        """Return whether a value is certainly of one of these types and of none of the others; ask, the first time."""
        function = self._functions.setdefault((types, but), f"halflap_{len(self._functions)}")
        if place in self._failed:
            number = self._asked[place].get(function)
            # The control, number 0, has to fail.
            return number is not None and 0 in self._failed[place] and number not in self._failed[place]
        if self._count < _MAX_PROBES:
            self._count += 1
            asked = self._asked.setdefault(place, {})
            asked.setdefault(function, len(asked) + 1)
        return False

    def members(self, place: Place, options: Sequence[Types], others: Types) -> list[int]:
        """Return which of the options a value may be; none if it may be something that is not listed at all."""
        known = self.all_are(place, (*chain(*options), *others))
        left_out = [
            not self.all_are(place, (*chain(*options[:number], *options[number + 1 :]), *others))
            for number in range(len(options))
        ]
        return [number for number, needed in enumerate(left_out) if known and needed]

    def stubs(self) -> str:
        """Write the functions that the assertions call."""
        parts = [_NAMES]
        for (types, but), name in self._functions.items():
            listed = [(but, "HalflapNo"), (types, "HalflapYes"), (("object",), "HalflapNo")]
            parts += [
                f"@overload\ndef {name}(value: {' | '.join(one)}, /) -> {result}: ..."
                for one, result in listed
                if one
            ]
        return "\n".join(parts)

    def text(self, code: str, wraps: Sequence[Wrap], without: Sequence[Place]) -> EditedText:
        """Return the program with the assertions in it, outside of other wraps."""
        return EditedText(code, [*(self._wrap(place) for place in self._asked), *wraps], without)

    def _wrap(self, place: Place) -> Wrap:
        return Wrap(
            place, f"({self._variable(place)} := (", "".join(["), ", *self._assertions(place), "0)[0]"])
        )

    def _variable(self, place: Place) -> str:
        return f"halflap_v{'_'.join(map(str, place))}"

    def _assertions(self, place: Place) -> list[str]:
        value = self._variable(place)
        asked = [f"assert_type({function}({value}), HalflapYes), " for function in self._asked[place]]
        return [f"assert_type({value}, HalflapControl), ", *asked]

    def read(self, edited: EditedText, failed: Collection[tuple[int, int]]) -> None:
        """Take the places at which ty objected as answers; from now on, questions are answered."""
        places = sorted(failed)
        for number, place in enumerate(self._asked):
            line, begin = edited.after(number)
            begin += len("), ")
            found = set()
            for index, assertion in enumerate(self._assertions(place)):
                end = begin + len(assertion)
                if bisect_left(places, (line, begin)) < bisect_left(places, (line, end)):
                    found.add(index)
                begin = end
            self._failed[place] = found
