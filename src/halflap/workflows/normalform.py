"""Normal forms of blocks: two trees with the same form have the same traces, whatever their silent tasks and nesting.

Every rule keeps the set of traces exactly, so equal forms are a proof. Forms that differ prove nothing: two ways to
write the same choice may have two forms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.workflows.block import inside_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.workflows.block import Block
    from halflap.workflows.net import Net

__all__ = ["NOTHING", "Form", "Forms"]

NOTHING = 0
"""The form of what is gone through with nothing to be seen."""


class Form(NamedTuple):
    """A block by its parts, which are numbers of forms; the order of the parts counts in a sequence and a loop alone."""

    kind: Literal["nothing", "activity", "sequence", "and", "xor", "or", "loop"]
    parts: tuple[int, ...] = ()
    label: str | None = None


class Forms:
    """Forms by number; the same form has the same number, so one table serves all trees that are compared."""

    def __init__(self) -> None:
        self.forms: list[Form] = []
        self.skips: list[bool] = []
        """Whether it has the empty trace."""
        self.labels: list[int] = []
        """The activities in it, a bit for each, by when it was first seen: sets would take too much room for deep trees."""
        self.shortest: list[int] = []
        """How long its shortest trace is."""
        self._numbers: dict[Form, int] = {}
        self._bits: dict[str, int] = {}
        self._add(Form("nothing"))

    def of(self, net: Net, tree: Block) -> int:
        """Give the form of a tree."""
        done: list[int] = []
        for block in inside_out(tree):
            if not block.children:
                label = None if block.task is None else net.tasks[block.task].label
                done.append(NOTHING if label is None else self._add(Form("activity", label=label)))
                continue
            parts = done[-len(block.children) :]
            del done[-len(block.children) :]
            done.append(self.made(block.kind, parts))
        return done[0]

    def made(self, kind: str, parts: list[int]) -> int:
        """Give the form of a block of these parts."""
        match kind:
            case "sequence":
                return self.sequence(parts)
            case "and":
                return self.together(parts)
            case "xor":
                return self.choice(parts)
            case "or":
                return self.some(parts)
            case _:
                return self.loop(*parts)

    def sequence(self, parts: Iterable[int]) -> int:
        flat = [part for part in self._flat("sequence", parts) if part != NOTHING]
        return self._several("sequence", flat)

    def together(self, parts: Iterable[int]) -> int:
        flat = sorted(part for part in self._flat("and", parts) if part != NOTHING)
        return self._several("and", flat)

    def choice(self, parts: Iterable[int]) -> int:
        flat = set(self._flat("xor", parts))
        if any(self.skips[part] for part in flat):
            # With the empty trace in, "some of these" is "each of these or not", and "once or more" is "as often as wanted".
            flat = {self._with_empty(part) for part in flat if part != NOTHING}
            if not any(self.skips[part] for part in flat):
                flat.add(NOTHING)
        return self._several("xor", sorted(flat))

    def some(self, parts: Iterable[int]) -> int:
        flat = sorted(self._flat("or", parts))
        if len(flat) > 1 and any(self.skips[part] for part in flat):
            return self.together(self.maybe(part) for part in flat)
        return self._several("or", flat)

    def maybe(self, part: int) -> int:
        return part if self.skips[part] else self.choice([NOTHING, part])

    def loop(self, again: int, between: int) -> int:
        form = self.forms[again]
        if form.kind == "loop":
            again, between = form.parts[0], self.choice([form.parts[1], between])
        if self.skips[again] and self.skips[between]:
            return self._often(self.choice([again, between]))
        if again == NOTHING:
            return self._often(between)
        return self._add(Form("loop", (again, between)))

    def trace(self, number: int) -> list[str]:
        """Give a shortest trace of a form."""
        found: list[str] = []
        waiting = [number]
        while waiting:
            form = self.forms[waiting.pop()]
            if form.label is not None:
                found.append(form.label)
            elif form.kind in {"xor", "or"}:
                waiting.append(min(form.parts, key=lambda part: self.shortest[part]))
            elif form.kind == "loop":
                waiting.append(form.parts[0])
            else:
                waiting.extend(reversed(form.parts))
        return found

    def _often(self, part: int) -> int:
        """Give the form of what can be done as often as wanted, and not at all."""
        while True:
            found: set[int] = set()
            for one in self._flat("xor", [part]):
                form = self.forms[one]
                if form.kind == "loop" and NOTHING in form.parts:
                    found.add(max(form.parts))
                elif one != NOTHING:
                    found.add(one)
            simpler = self.choice(found) if found else NOTHING
            if simpler == part:
                break
            part = simpler
        return NOTHING if part == NOTHING else self._add(Form("loop", (NOTHING, part)))

    def _with_empty(self, part: int) -> int:
        """Add the empty trace to a form where another form has it as its own."""
        form = self.forms[part]
        if form.kind == "or":
            return self.together(self.maybe(one) for one in form.parts)
        if form.kind == "loop" and form.parts[1] == NOTHING:
            return self._often(form.parts[0])
        return part

    def _flat(self, kind: str, parts: Iterable[int]) -> list[int]:
        return [
            inner
            for part in parts
            for inner in (self.forms[part].parts if self.forms[part].kind == kind else (part,))
        ]

    def _several(self, kind: Literal["sequence", "and", "xor", "or"], parts: list[int]) -> int:
        if len(parts) < 2:  # noqa: PLR2004 (one part is no block)
            return parts[0] if parts else NOTHING
        return self._add(Form(kind, tuple(parts)))

    def _add(self, form: Form) -> int:
        number = self._numbers.get(form)
        if number is None:
            number = self._numbers[form] = len(self.forms)
            self.forms.append(form)
            lengths = [self.shortest[part] for part in form.parts]
            skips = [self.skips[part] for part in form.parts]
            sums: Mapping[str, tuple[int, bool]] = {
                "nothing": (0, True),
                "activity": (1, False),
                "sequence": (sum(lengths), all(skips)),
                "and": (sum(lengths), all(skips)),
                "xor": (min(lengths, default=0), any(skips)),
                "or": (min(lengths, default=0), any(skips)),
                "loop": (lengths[0] if lengths else 0, skips[0] if skips else True),
            }
            length, skip = sums[form.kind]
            self.shortest.append(length)
            self.skips.append(skip)
            labels = 0 if form.label is None else 1 << self._bits.setdefault(form.label, len(self._bits))
            for part in form.parts:
                labels |= self.labels[part]
            self.labels.append(labels)
        return number
