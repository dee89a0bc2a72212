"""Normal forms of blocks: two blocks with the same form have the same traces, whatever their silent tasks and nesting.

Every rule preserves the set of traces, so equal forms are a proof. Different forms prove nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.workflows.analysis.states import MachineBuilder
from halflap.workflows.model.block import Branches, Loop, Sequence, Step, inner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.workflows.analysis.states import Machine
    from halflap.workflows.model.block import Block
    from halflap.workflows.model.net import Net

__all__ = ["NOTHING", "Form", "Forms"]

NOTHING = 0
"""The form of whatever has only the empty trace."""
_Kind = Literal["nothing", "activity", "sequence", "and", "xor", "or", "loop"]


class Form(NamedTuple):
    """A block by its parts, which are numbers of forms. Their order matters in a sequence and a loop only."""

    kind: _Kind
    parts: tuple[int, ...] = ()
    label: str | None = None


class Forms:
    """Forms by number: equal forms have equal numbers, so one table serves all blocks that are compared."""

    def __init__(self) -> None:
        self.forms: list[Form] = []
        self.skips: list[bool] = []
        """Whether it has the empty trace."""
        self.labels: list[int] = []
        """Its activities, a bit for each."""
        self.shortest: list[int] = []
        """The length of its shortest trace."""
        self._numbers: dict[Form, int] = {}
        self._bits: dict[str, int] = {}
        self._add(Form("nothing"))

    def of(self, net: Net, block: Block) -> int:
        if isinstance(block, Step):
            task = net.tasks.get(block.node)
            label = None if task is None else task.label
            return NOTHING if label is None else self._add(Form("activity", label=label))
        parts = [self.of(net, one) for one in inner(block)]
        if isinstance(block, Sequence):
            return self.sequence(parts)
        if isinstance(block, Loop):
            return self.loop(*parts)
        assert isinstance(block, Branches)
        return {"and": self.parallel, "xor": self.choice, "or": self.some}[block.kind](parts)

    def sequence(self, parts: Iterable[int]) -> int:
        return self._several("sequence", [part for part in self._flat("sequence", parts) if part != NOTHING])

    def parallel(self, parts: Iterable[int]) -> int:
        return self._several("and", sorted(part for part in self._flat("and", parts) if part != NOTHING))

    def choice(self, parts: Iterable[int]) -> int:
        flat = set(self._flat("xor", parts))
        if any(self.skips[part] for part in flat):
            # With the empty trace, "some of these" is "each or not", and "once or more" is "any number of times".
            flat = {self._with_empty(part) for part in flat if part != NOTHING}
            if not any(self.skips[part] for part in flat):
                flat.add(NOTHING)
        return self._several("xor", sorted(flat))

    def some(self, parts: Iterable[int]) -> int:
        flat = sorted(self._flat("or", parts))
        if len(flat) > 1 and any(self.skips[part] for part in flat):
            return self.parallel(self.maybe(part) for part in flat)
        return self._several("or", flat)

    def maybe(self, part: int) -> int:
        return part if self.skips[part] else self.choice([NOTHING, part])

    def loop(self, body: int, again: int) -> int:
        form = self.forms[body]
        if form.kind == "loop":
            body, again = form.parts[0], self.choice([form.parts[1], again])
        if self.skips[body] and self.skips[again]:
            return self._any_number(self.choice([body, again]))
        if body == NOTHING:
            return self._any_number(again)
        return self._add(Form("loop", (body, again)))

    def trace(self, number: int) -> list[str]:
        """Return a shortest trace."""
        form = self.forms[number]
        if form.label is not None:
            return [form.label]
        if form.kind in {"xor", "or"}:
            return self.trace(min(form.parts, key=lambda part: self.shortest[part]))
        parts = form.parts[:1] if form.kind == "loop" else form.parts
        return [label for part in parts for label in self.trace(part)]

    def machine(self, number: int) -> Machine:
        """Return places and steps with exactly the traces of a form."""
        build = MachineBuilder()
        start, end = build.place(), build.place()
        self._unfold(build, number, start, end)
        return build.machine(start, end)

    def _unfold(self, build: MachineBuilder, number: int, begin: int, finish: int) -> None:
        form = self.forms[number]
        match form.kind:
            case "nothing" | "activity":
                build.step([begin], [finish], label=form.label)
            case "sequence":
                places = [begin, *(build.place() for _ in form.parts[1:]), finish]
                for part, one, other in zip(form.parts, places, places[1:], strict=False):
                    self._unfold(build, part, one, other)
            case "xor":
                for part in form.parts:
                    self._unfold(build, part, begin, finish)
            case "loop":
                here, there = build.place(), build.place()
                build.step([begin], [here])
                build.step([there], [finish])
                self._unfold(build, form.parts[0], here, there)
                self._unfold(build, form.parts[1], there, here)
            case "and" | "or":
                ways = [build.place() for _ in form.parts]
                done = [build.place() for _ in form.parts]
                if form.kind == "and":
                    build.step([begin], ways)
                else:
                    build.choose_some(begin, ways, done)
                build.step(done, [finish])
                for part, one, other in zip(form.parts, ways, done, strict=True):
                    self._unfold(build, part, one, other)

    def _any_number(self, part: int) -> int:
        """Return the form of any number of repetitions, including none."""
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
        """Add the empty trace to a form where another form has it already."""
        form = self.forms[part]
        if form.kind == "or":
            return self.parallel(self.maybe(one) for one in form.parts)
        if form.kind == "loop" and form.parts[1] == NOTHING:
            return self._any_number(form.parts[0])
        return part

    def _flat(self, kind: _Kind, parts: Iterable[int]) -> list[int]:
        return [
            one
            for part in parts
            for one in (self.forms[part].parts if self.forms[part].kind == kind else (part,))
        ]

    def _several(self, kind: _Kind, parts: list[int]) -> int:
        if len(parts) <= 1:
            return parts[0] if parts else NOTHING
        return self._add(Form(kind, tuple(parts)))

    def _add(self, form: Form) -> int:
        number = self._numbers.get(form)
        if number is None:
            number = self._numbers[form] = len(self.forms)
            self.forms.append(form)
            parts = form.parts[:1] if form.kind == "loop" else form.parts
            lengths = [self.shortest[part] for part in parts]
            skips = [self.skips[part] for part in parts]
            alternative = form.kind in {"xor", "or"}
            self.shortest.append(1 if form.label else min(lengths) if alternative else sum(lengths))
            self.skips.append(not form.label and (any(skips) if alternative else all(skips)))
            labels = 0 if form.label is None else 1 << self._bits.setdefault(form.label, len(self._bits))
            for part in form.parts:
                labels |= self.labels[part]
            self.labels.append(labels)
        return number
