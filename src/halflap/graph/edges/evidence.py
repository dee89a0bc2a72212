"""How certain it is that a field of a result is what a parameter asks for, from names and types alone.

The weights here and in `fields` are the whole model. `bench/bench_links.py` measures them on a large API and
cross-validates them by its areas.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from halflap.graph.edges.fields import DOUBT
from halflap.graph.edges.model import Evidence, EvidenceKind
from halflap.graph.naming import doubts, phrase
from halflap.graph.naming.vocabulary import DISPLAY, PERSONS, ROLES, SELF_NAMING, VAGUE
from halflap.graph.types import conflict, conversion

if TYPE_CHECKING:
    from halflap.graph.edges.fields import Asked, Meaning
    from halflap.graph.naming import Identity, Words

LEAST = 0.5
"""Links below this are not shown. Lowering it shows more links, and more wrong ones."""
COMPANION = 0.35
"""A weaker link counts beside one that makes an edge, and in plans."""

DECLARED = 0.95
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
_OTHER_SERVER = 0.6
"""A key of another server: servers number their things themselves."""
_FEW_TOOLS, _FEW_SHARE = 6, 0.01
"""A plain name that more tools return, in number and as a share, says less about where a value comes from."""

_EVERYWHERE = SELF_NAMING - {"login"}
"""Attributes that mean the same on all servers."""
_LOOSE = _EVERYWHERE | {"uid", "uuid"}
_RARE_FORMATS = frozenset({"email", "ipv4"})

_Reason = tuple[EvidenceKind, float, str]


@dataclass(slots=True)
class Catalogue:
    """What a name's weight depends on besides the two tools."""

    tools: int = 0
    names: Counter[Words] = field(default_factory=Counter)
    """How many tools return a plain value with a name."""
    things: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many tools of a server are about a thing, by the last word of its name."""

    def count(self, server: str, things: tuple[Words, ...], by: int) -> None:
        """Count the things that a tool is about; with -1 for `by`, those of a tool that is removed."""
        for thing in things:
            self.things[server, thing[-1]] += by

    def has_tools_for(self, server: str, thing: Words) -> bool:
        """Return whether some tool of a server is about things of this name."""
        return bool(thing) and self.things[server, thing[-1]] > 0

    def is_thing(self, server: str, words: Words) -> bool:
        """Return whether a name alone is that of a thing: `status` is not, whatever `get_status` is about."""
        is_known = self.has_tools_for(server, words) or (len(words) == 1 and words[0] in PERSONS | ROLES)
        return is_known and words[-1] not in VAGUE

    def name_weight(self, words: Words) -> float:
        """Return the confidence from an equal name alone."""
        if VAGUE.issuperset(words) or not self.names[words]:
            return 0.0
        few = max(_FEW_TOOLS, _FEW_SHARE * self.tools)
        weight = _SAME_NAME if len(words) > 1 else _SAME_WORD
        return weight * min(1.0, math.sqrt(few / self.names[words]))


def score(given: Meaning, asked: Asked, catalogue: Catalogue) -> Evidence | None:
    """Return the strongest reason why such fields can fill a slot, if there is one and the types allow it."""
    is_converted = bool(conflict(given.form, asked.form))
    if is_converted and conversion(given.form, asked.form) is None:
        return None
    reasons = _entities(given, asked, catalogue, is_converted=is_converted)
    if not is_converted:
        reasons = chain(reasons, _others(given, asked, catalogue))
    best = max(reasons, key=lambda one: one[1], default=None)
    if best is None:
        return None
    may_be_refused = asked.form.values is not None and given.form.values is None
    weight = best[1] * DOUBT ** (asked.is_new + may_be_refused)
    return Evidence(best[0], weight, best[2])


def _entities(given: Meaning, asked: Asked, catalogue: Catalogue, *, is_converted: bool) -> Iterator[_Reason]:
    """Yield the readings by which a field identifies what a slot asks for; only identifiers are ever converted."""
    for own in given.identities:
        is_home = given.server == asked.server or own.attribute in _EVERYWHERE
        factor = 1.0 if is_home else _OTHER_SERVER
        for wanted in asked.identities:
            weight, detail = _identifies(own, wanted, _is_described(own, asked))
            if not weight or (is_converted and (not own.attribute or own.attribute != wanted.attribute)):
                continue
            names_thing = own.attribute or given.is_item or catalogue.is_thing(given.server, own.words)
            asks_thing = own.attribute or wanted.attribute or catalogue.is_thing(asked.server, wanted.words)
            if names_thing and asks_thing:
                doubt = int(is_converted)
                if wanted.attribute and not own.is_direct:
                    # If no tool is about the entity, it is a name like any other: `tracking_number`.
                    doubt += not catalogue.has_tools_for(asked.server, wanted.named)
                weight *= factor * own.certainty * wanted.certainty * DOUBT**doubt
                yield "entity", weight, detail


def _others(given: Meaning, asked: Asked, catalogue: Catalogue) -> Iterator[_Reason]:
    is_home = given.server == asked.server
    for own in given.identities:
        if not own.attribute and any(
            not one.attribute and one.words == own.words for one in asked.identities
        ):
            yield "name", catalogue.name_weight(own.words), phrase(own.words)
        for wanted in asked.described:
            if own.attribute == wanted.attribute and doubts(own.thing, wanted.thing) is not None:
                weight = _INDIRECT * (1.0 if is_home else _OTHER_SERVER)
                yield "text", weight, f"{phrase(wanted.thing)} {own.attribute}"
    if given.form.format in _RARE_FORMATS and given.form.format == asked.form.format:
        yield "format", _INDIRECT, given.form.format or ""
    for thing in set(given.produces).intersection(asked.consumes) if is_home else ():
        yield "declared", DECLARED, f"the server declares that both identify a {thing}"


def _is_described(own: Identity, asked: Asked) -> bool | None:
    """Return whether the parameter's description names an attribute; None if it names none."""
    return any(one.attribute == own.attribute for one in asked.described) if asked.described else None


@lru_cache(maxsize=1 << 16)
def _identifies(own: Identity, wanted: Identity, is_described: bool | None) -> tuple[float, str]:
    """Return the confidence that a field identifies what a slot asks for, and which attribute of which entity it is."""
    is_vague = not wanted.attribute and VAGUE.issuperset(wanted.named)
    doubt = None if is_vague else doubts(own.named, wanted.named)
    if doubt is None and own.attribute and own.attribute == wanted.attribute:
        is_key = own.attribute not in {"id", *DISPLAY} and own.words == wanted.words
        return (_INDIRECT if own.attribute in SELF_NAMING else _SAME_KEY * is_key), own.attribute
    if doubt is None or (own.attribute and wanted.attribute and own.attribute != wanted.attribute):
        return 0.0, ""
    if not own.attribute:
        # A bare name may be a text about the thing, where an id is asked for.
        doubt += 1 + bool(wanted.attribute)
    elif wanted.attribute:
        doubt += own.attribute in DISPLAY
    else:
        # A key may be of something else (a SHA), or for more than the thing (`max_open_issues`).
        is_loose = own.words[-1] in _LOOSE or not own.is_direct or len(wanted.named) > len(own.named)
        doubt += is_loose + (is_described is False) + (own.attribute in DISPLAY and not is_described)
    attribute = own.attribute or wanted.attribute
    return _IDENTIFIER * DOUBT**doubt, phrase((attribute, "of", *wanted.named) if attribute else wanted.named)
