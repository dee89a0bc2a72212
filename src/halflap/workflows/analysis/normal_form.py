"""Normal forms of trees: two with the same form have the same traces, whatever their silent tasks and nesting.

Every rule preserves the set of traces, so equal forms are a proof. Different forms prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from halflap.workflows.model.block import Block, Branches, Loop, Sequence, Step

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

Form = tuple[str, tuple[int, ...]]
"""A kind of block and the numbers of its parts, of which the order matters in a sequence and a loop only; or `=` and a label."""
_NOTHING = 0
"""The form of whatever has only the empty trace."""


class Forms:
    """Forms by number: equal forms have equal numbers, so one table serves all trees that are compared."""

    def __init__(self) -> None:
        self._forms: list[Form] = []
        self._skips: list[bool] = []
        """Whether it has the empty trace."""
        self._numbers: dict[Form, int] = {}
        self._add("nothing")

    def of(self, net: Net, block: Block) -> int:
        if isinstance(block, Step):
            task = net.tasks.get(block.node)
            return _NOTHING if task is None or task.label is None else self._add(f"={task.label}")
        parts = [self.of(net, one) for one in block.parts]
        if isinstance(block, Sequence):
            return self._sequence(parts)
        if isinstance(block, Loop):
            return self._loop(*parts)
        assert isinstance(block, Branches)
        return {"and": self._parallel, "xor": self._choice, "or": self._some}[block.kind](parts)

    def _add(self, kind: str, parts: tuple[int, ...] = ()) -> int:
        number = self._numbers.setdefault((kind, parts), len(self._forms))
        if number == len(self._forms):
            skips = [self._skips[part] for part in (parts[:1] if kind == "loop" else parts)]
            self._forms.append((kind, parts))
            self._skips.append(kind[0] != "=" and (any(skips) if kind in {"xor", "or"} else all(skips)))
        return number

    def _flat(self, kind: str, parts: Iterable[int]) -> list[int]:
        """Return parts with those of the same kind taken apart."""
        forms = ((part, self._forms[part]) for part in parts)
        return [one for part, form in forms for one in (form[1] if form[0] == kind else (part,))]

    def _several(self, kind: str, parts: list[int]) -> int:
        return self._add(kind, tuple(parts)) if len(parts) > 1 else parts[0] if parts else _NOTHING

    def _sequence(self, parts: Iterable[int]) -> int:
        return self._several("sequence", [one for one in self._flat("sequence", parts) if one != _NOTHING])

    def _parallel(self, parts: Iterable[int]) -> int:
        return self._several("and", sorted(one for one in self._flat("and", parts) if one != _NOTHING))

    def _choice(self, parts: Iterable[int]) -> int:
        flat = set(self._flat("xor", parts))
        if any(self._skips[part] for part in flat):
            # With the empty trace, "some of these" is "each or not", and "once or more" is "any number of times".
            flat = {self._with_empty(part) for part in flat if part != _NOTHING}
            if not any(self._skips[part] for part in flat):
                flat.add(_NOTHING)
            return self._several("xor", sorted(flat))
        return self._factored(sorted(flat))

    def _factored(self, parts: list[int]) -> int:
        """Take what all ways begin or end with out of a choice."""
        ways = [self._flat("sequence", [part]) for part in parts]
        shortest = min(map(len, ways), default=0)
        begin = next((at for at in range(shortest) if len({way[at] for way in ways}) > 1), shortest)
        rest = shortest - begin
        end = next((at for at in range(rest) if len({way[-1 - at] for way in ways}) > 1), rest)
        if len(ways) == 1 or not begin + end:
            return self._several("xor", parts)
        middle = self._choice(self._sequence(way[begin : len(way) - end]) for way in ways)
        return self._sequence([*ways[0][:begin], middle, *ways[0][len(ways[0]) - end :]])

    def _some(self, parts: Iterable[int]) -> int:
        flat = sorted(self._flat("or", parts))
        if len(flat) > 1 and any(self._skips[part] for part in flat):
            return self._parallel(self._maybe(part) for part in flat)
        return self._several("or", flat)

    def _maybe(self, part: int) -> int:
        return part if self._skips[part] else self._choice([_NOTHING, part])

    def _loop(self, body: int, again: int) -> int:
        kind, parts = self._forms[body]
        if kind == "loop":
            body, again = parts[0], self._choice([parts[1], again])
        if self._skips[body] and self._skips[again]:
            return self._any_number(self._choice([body, again]))
        return self._any_number(again) if body == _NOTHING else self._add("loop", (body, again))

    def _any_number(self, part: int) -> int:
        """Return the form of any number of repetitions, including none."""
        while True:
            found: set[int] = set()
            for one in self._flat("xor", [part]):
                kind, parts = self._forms[one]
                found.add(max(parts) if kind == "loop" and _NOTHING in parts else one)
            simpler = self._choice(found - {_NOTHING})
            if simpler == part:
                return _NOTHING if part == _NOTHING else self._add("loop", (_NOTHING, part))
            part = simpler

    def _with_empty(self, part: int) -> int:
        """Add the empty trace to a form where another form has it already."""
        kind, parts = self._forms[part]
        if kind == "or":
            return self._parallel(self._maybe(one) for one in parts)
        if kind == "loop" and parts[1] == _NOTHING:
            return self._any_number(parts[0])
        return part
