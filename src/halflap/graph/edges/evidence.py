"""How certain it is that a field of a result is what a parameter asks for, from names and types alone.

The weights are the whole model. `bench/bench_links.py` measures them on a large API and cross-validates them by its areas.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.graph.edges.model import Evidence, EvidenceKind
from halflap.graph.effects import may_change
from halflap.graph.naming import (
    Identity,
    described_identities,
    doubts,
    is_plural,
    is_secret,
    phrase,
    place_identities,
    slot_identities,
    words_of,
)
from halflap.graph.naming.vocabulary import DISPLAY, SELF_NAMING, VAGUE
from halflap.graph.paths import EACH, keys_of
from halflap.graph.types import Form, conflict, form_of

if TYPE_CHECKING:
    from halflap.graph.naming import Words
    from halflap.graph.ports import Place, Ports, Slot
    from halflap.schema import Type

LEAST = 0.5
"""Links below this are not shown. Lowering it shows more links, and more wrong ones."""
COMPANION = 0.35
"""A weaker link counts beside one that makes an edge, and in plans."""

DECLARED = 0.9
"""The server says so: both identify the same, or a description names the other tool."""
_IDENTIFIER = 0.92
"""An identifier of the thing that the parameter asks for: `issues[].number` for `issue_number`, `owner.login` for `owner`."""
_SAME_NAME = 0.8
"""The same name of several words that identifies nothing: `departure_date`; less where many tools return it."""
_SAME_WORD = 0.59
"""The same name of one word: `city`."""
_INDIRECT = 0.7
"""The parameter's description names thing and identifier (`a commit SHA`), the value means the same for other things (a
member's login is a user's), or both have a rare format."""
_SAME_KEY = 0.4
"""The same kind of key of another thing; right only beside other parts of the same key."""

_DOUBT = 0.9
"""For each thing that is not as it should be: the names of the things are only related; the field is a display name, has
only the name of the thing, may be missing or null, may identify something else, echoes an argument, or is what a change
returns."""
_DEEPER = 0.99
"""Per key further inside."""
_LEARNED = 0.9
"""The field was seen in results, and not declared."""
_COUNT = 0.5
"""A plural for a single value, which is mostly a number of things: `followers`."""
_OTHER_SERVER = 0.6
"""A key of another server: servers number their things themselves."""

_FEW_TOOLS, _FEW_SHARE = 6, 0.01
"""A plain name that more tools return, in number and as a share, says less about where a value comes from."""

_LOOSE = (SELF_NAMING - {"login"}) | {"uid", "uuid"}
_RARE_FORMATS = frozenset({"email", "ipv4"})


class Meaning(NamedTuple):
    """What matters of a field for links: the same for fields of many tools, so they are scored together."""

    server: str
    identities: tuple[Identity, ...]
    is_item: bool
    """Whether it is an item of an array of plain values, or the whole result."""
    form: Form
    factor: float
    """What makes it less certain whatever asks for it: how deep it is, whether it may be missing, was learned or echoed."""
    produces: tuple[str, ...]
    """What the server declares that it identifies."""


class Returned(NamedTuple):
    """A field of a tool's result, as a candidate for parameters."""

    tool: str
    place: Place
    meaning: Meaning
    at: int
    """Its number among the tool's places: of equals, the first is meant."""


class Asked(NamedTuple):
    """What a slot asks for. Slots of many tools ask for the same, so candidates are looked up once for all of them."""

    server: str
    identities: tuple[Identity, ...]
    form: Form
    described: tuple[Identity, ...]
    """The identifiers that the description names."""
    consumes: tuple[str, ...]
    """What the server declares that it takes."""
    is_secret: bool = False
    """Whether only lineage may fill it."""


@dataclass(slots=True)
class Catalogue:
    """What the weight of a name depends on beyond the two tools."""

    tools: int = 0
    names: Counter[Words] = field(default_factory=Counter)
    """How many tools return a plain value of a name."""
    things: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many tools of a server are about a thing."""

    def is_thing(self, server: str, words: Words) -> bool:
        """Return whether some tool of a server is about things of this name."""
        return bool(words) and words[-1] not in VAGUE and self.things[server, words[-1]] > 0

    def name_weight(self, words: Words) -> float:
        """Return how certain the same name makes alone."""
        if VAGUE.issuperset(words) or not self.names[words]:
            return 0.0
        few = max(_FEW_TOOLS, _FEW_SHARE * self.tools)
        weight = _SAME_NAME if len(words) > 1 else _SAME_WORD
        return weight * min(1.0, math.sqrt(few / self.names[words]))


def returned_by(ports: Ports) -> Iterator[Returned]:
    """Yield the fields of a tool that can fill parameters: everything but yes or no."""
    subject = ports.subject
    # What a tool for several things returns once is of something else: `add_members_to_team` returns the team.
    around = subject._replace(things=(), returns=()) if subject.is_many else subject
    needed = {
        one[:2]
        for slot in ports.slots
        if ports.needs(slot)
        for one in slot_identities(keys_of(slot.path), subject)
    }
    # What a change returns is mostly what it was given, and no plan makes a change to get a value.
    is_change = may_change(ports)
    for at, place in enumerate(ports.places):
        if place.form.is_boolean:
            continue
        path, keys = place.path, keys_of(place.path)
        in_loop = len(keys) < len(path)
        is_item = path[-1:] in ((), (EACH,))
        identities = place_identities(keys, subject if in_loop else around)
        if not is_item and keys and is_plural(keys[-1]):
            identities = tuple(one._replace(certainty=_COUNT) for one in identities)
        factor = _DEEPER ** len(keys) * (_DOUBT if is_change else 1.0)
        if place.is_optional:
            factor *= _DOUBT
        if not place.declared:
            factor *= _LEARNED
        if EACH not in path and any(one.attribute and one[:2] in needed for one in identities):
            # The tool was itself called with this value, so other values in its result are more likely meant.
            factor *= _DOUBT
        produces = _relations(place.type, "produces")
        yield Returned(
            ports.tool, place, _meaning(ports.server, identities, is_item, place.form, factor, produces), at
        )


_meaning = lru_cache(maxsize=1 << 16)(Meaning)


def asked_of(ports: Ports, slot: Slot) -> Asked:
    keys = keys_of(slot.path)
    # Only what matters for the score, so that more slots share it.
    identities = tuple(
        one._replace(words=() if one.words[1:] else one.words) if one.attribute else one._replace(thing=())
        for one in slot_identities(keys, ports.subject)
    )
    described = described_identities(slot.description) if slot.description and ports.needs(slot) else ()
    return Asked(
        ports.server,
        identities,
        form_of(slot.type),
        described,
        _relations(slot.type, "consumes"),
        is_secret(words_of(keys[-1])),
    )


def _relations(kind: Type, way: Literal["produces", "consumes"]) -> tuple[str, ...]:
    """Return what the schema of the contract kit says that a value identifies."""
    if not kind.relations and not kind.members:
        return ()
    relations = [one for part in (kind, *kind.members) for one in part.relations]
    return tuple(phrase(words_of(thing)) or thing for direction, thing in relations if direction == way)


def score(given: Meaning, asked: Asked, catalogue: Catalogue) -> Evidence | None:
    """Return the strongest reason why such a field can fill a slot, if there is one and the types allow it."""
    best = max(_reasons(given, asked, catalogue), key=lambda one: one[1], default=None)
    if best is None or best[1] < COMPANION or conflict(given.form, asked.form):
        return None
    return Evidence(*best)


def _reasons(given: Meaning, asked: Asked, catalogue: Catalogue) -> Iterator[tuple[EvidenceKind, float, str]]:
    is_home = given.server == asked.server
    of_key = given.factor if is_home else given.factor * _OTHER_SERVER
    for own in given.identities:
        for wanted in asked.identities:
            weight, detail = _identifies(own, wanted)
            if own.attribute and not wanted.attribute and not _is_described(own.attribute, asked):
                weight *= _DOUBT
            names_thing = own.attribute or given.is_item or catalogue.is_thing(given.server, own.words)
            asks_thing = own.attribute or wanted.attribute or catalogue.is_thing(asked.server, wanted.words)
            if weight and names_thing and asks_thing:
                yield "entity", weight * of_key * own.certainty * wanted.certainty, detail
            if own.words == wanted.words and not own.attribute and not wanted.attribute:
                yield "name", catalogue.name_weight(own.words) * given.factor, phrase(own.words)
        for wanted in asked.described:
            if own.attribute == wanted.attribute and doubts(own.thing, wanted.thing) is not None:
                yield "text", _INDIRECT * of_key, f"{phrase(wanted.thing)} {own.attribute}"
    if given.form.format in _RARE_FORMATS and given.form.format == asked.form.format:
        yield "format", _INDIRECT * given.factor, given.form.format or ""
    for thing in set(given.produces).intersection(asked.consumes) if is_home else ():
        yield "declared", DECLARED, f"the server declares that both identify a {thing}"


def _is_described(attribute: str, asked: Asked) -> bool:
    """Return whether a description names an attribute, or none."""
    return not asked.described or any(one.attribute == attribute for one in asked.described)


@lru_cache(maxsize=1 << 16)
def _identifies(own: Identity, wanted: Identity) -> tuple[float, str]:
    """Return how certain a field identifies the thing that a slot asks for, and what of which thing it is."""
    thing = wanted.thing if wanted.attribute else wanted.words
    is_vague = not wanted.attribute and VAGUE.issuperset(thing)
    found = None if is_vague else doubts(own.thing if own.attribute else own.words, thing)
    if found is None and own.attribute and own.attribute == wanted.attribute:
        is_key = own.attribute not in {"id", *DISPLAY} and own.words == wanted.words
        return (_INDIRECT if own.attribute in SELF_NAMING else _SAME_KEY * is_key), own.attribute
    if found is None or (own.attribute and wanted.attribute and own.attribute != wanted.attribute):
        return 0.0, ""
    if not own.attribute:
        found += 1
    elif not wanted.attribute:
        # A key may be of something else (a SHA), or for more than the thing (`max_open_issues`).
        is_loose = own.words[-1] in _LOOSE or not own.is_direct or len(thing) > len(own.thing)
        found += (own.attribute in DISPLAY) + is_loose
    attribute = own.attribute or wanted.attribute
    return _IDENTIFIER * _DOUBT**found, phrase((attribute, "of", *thing) if attribute else thing)
