"""The new value that a change writes: it is not the old one, which whoever reads the same thing has at the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.effects import seems_to_change, verbs_of
from halflap.graph.subject import subject_of
from halflap.graph.verbs import MAKING, READING
from halflap.graph.words import words_of

if TYPE_CHECKING:
    from halflap.graph.edge import Path, Ports, Slot

__all__ = ["IDS", "PUTTING", "REPLACING", "Written"]

IDS = frozenset(
    {"id", "key", "number", "code", "uuid", "sku", "slug", "reference", "sha", "symbol", "handle"}
)
PUTTING = frozenset(
    {
        "add",
        "append",
        "attach",
        "copy",
        "enqueue",
        "import",
        "include",
        "insert",
        "invite",
        "move",
        "push",
        "put",
        "transfer",
    }
)
"""What puts something into something else, where it is not yet."""
REPLACING = frozenset(
    {"assign", "change", "exchange", "reassign", "replace", "set", "substitute", "swap", "switch"}
)
"""What gives something another one of what it has."""
_NAMES_NOTHING = frozenset({"new", "value", "to", "by", "of", "for", "a", "the"})


class Written:
    """What a tool writes into something that is there already, if it does."""

    def __init__(self, ports: Ports) -> None:
        self.parameters: frozenset[str] = frozenset()
        """The parameters that hold what is new."""
        self._ids: set[tuple[str, ...]] = set()
        self._about: frozenset[str] = frozenset()
        self._rest: frozenset[str] = frozenset()
        self._into: frozenset[tuple[str, ...]] = frozenset()
        verbs = verbs_of(ports)
        self._replaces = self._read_replaced(ports, verbs)
        if self._replaces:
            return
        if verbs & PUTTING and seems_to_change(ports):
            self._into = _into(ports)
        if not seems_to_change(ports) or verbs & MAKING:
            return
        said = {slot.parameter: words_of(slot.parameter) for slot in ports.slots}
        name = words_of(ports.original_name or ports.tool.rpartition("__")[2])
        self._ids = {words for words in said.values() if words[-1:] and words[-1] in IDS}
        self._about = frozenset(one for words in self._ids for one in words) - IDS
        values = {one for one in ports.required if said.get(one) and said[one] not in self._ids}
        # `rename` changes the name.
        does = {*name, *(verb.removeprefix("re") for verb in verbs)}
        named = {one for one in values if not does.isdisjoint(set(said[one]) - _NAMES_NOTHING)}
        self.parameters = frozenset(named or values)
        if not self._about and self._ids:
            self._about = frozenset(name) - verbs - {word for one in values for word in said[one]} - IDS
        self._rest = frozenset(name) - verbs

    def _read_replaced(self, ports: Ports, verbs: frozenset[str]) -> tuple[str, ...]:
        """Note which of two ids is of what something gets another of, and give the other's words, if that is clear.

        Of `requeen_hive` it is the queen; where the verb says nothing of which, the second.
        """
        order = dict.fromkeys(slot.parameter for slot in ports.slots if slot.parameter in ports.required)
        said = {one: words_of(one) for one in order}
        if len(said) != 2 or any(len(words) < 2 or words[-1] not in IDS for words in said.values()):  # noqa: PLR2004 -- what gets it, and what it gets
            return ()
        name = words_of(ports.original_name or ports.tool.rpartition("__")[2])
        again = {word.removeprefix("re") for word in (*verbs, *name[:1]) if word.startswith("re")}
        found = [one for one, words in said.items() if not again.isdisjoint(words[:-1])]
        if len(found) != 1 and verbs & REPLACING:
            found = list(said)[1:]
        if len(found) != 1:
            return ()
        self.parameters = frozenset(found)
        return next(words for one, words in said.items() if one != found[0])

    @property
    def is_told(self) -> bool:
        """Whether there is anything that is not to be taken from everywhere."""
        return bool(self.parameters or self._into)

    def is_refused(self, slot: Slot, source: Ports, path: Path) -> bool:
        """Say whether what a place of a result has for a slot is there already."""
        return self.is_old(slot, source, path) or self.is_inside(slot, source)

    def is_inside(self, slot: Slot, source: Ports) -> bool:
        """Say whether what a tool returns for a slot is in the very thing that it would be put into."""
        if not self._into or words_of(slot.parameter) in self._into:
            return False
        asked = {words_of(one) for one in source.required}
        if asked == {("id",)}:
            asked = {(*subject_of(source.original_name or source.tool, source.server).thing, "id")}
        return not self._into.isdisjoint(asked)

    def is_old(self, slot: Slot, source: Ports, path: Path) -> bool:
        """Say whether what a place of a result has for a slot is what the change is to replace."""
        if slot.parameter not in self.parameters:
            return False
        if self._replaces:
            return self._is_of_it(source, path)
        around = {
            words_of(one.path[-1].key)
            for one in source.places
            if one.path and one.path[-1].kind == "key" and one.path[:-1] == path[:-1]
        }
        taken = {words_of(one.parameter) for one in source.slots}
        if not self._ids.isdisjoint(around | taken):
            return True
        told = frozenset(words_of(source.original_name or source.tool.rpartition("__")[2]))
        # `set_volume` and `get_volume`: of what there is one of, no id is taken.
        return not self._about.isdisjoint(told) or self._rest == told - READING

    def _is_of_it(self, source: Ports, path: Path) -> bool:
        """Say whether a place is of the very thing that is to get another: of the item that it is in, or of what was asked for.

        Of a list within that thing, one may be chosen.
        """
        ends = [at for at, step in enumerate(path) if step.kind != "key"]
        items = path[: ends[-1] + 1] if ends else ()
        inside = next((words_of(step.key) for step in reversed(items) if step.kind == "key"), ())
        thing = inside if items else subject_of(source.original_name or source.tool, source.server).thing
        for place in source.places:
            own = place.path[len(items) :]
            if place.path[: len(items)] != items or len(own) != 1 or own[0].kind != "key":
                continue
            said = words_of(own[0].key)
            if self._replaces in (said, (*thing, *said)):
                return True
        taken = {words_of(one.parameter) for one in source.slots}
        return not items and (self._replaces in taken or (*thing, "id") == self._replaces)


def _into(ports: Ports) -> frozenset[tuple[str, ...]]:
    """Give the words of the parameter that names what something is put into, where it is clear which that is.

    That is what the name says it is put `to`, or of two things the one that the tool is not about.
    """
    subject = subject_of(ports.original_name or ports.tool, ports.server)
    ids = {words for one in ports.required if len(words := words_of(one)) > 1 and words[-1] in IDS}
    owners = {words for words in ids if subject.owner and words[:-1] == subject.owner}
    if not owners and len(ids) == 2:  # noqa: PLR2004 -- what is put, and into what
        owners = {words for words in ids if words[:-1] != subject.thing[-len(words[:-1]) :]}
    return frozenset(owners) if len(owners) == 1 else frozenset()
