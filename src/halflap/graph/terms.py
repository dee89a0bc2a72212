"""What a tool needs, what calling it costs, and what others offer it: the terms that plans are made on, for one question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from halflap.graph.bearing import is_got
from halflap.graph.effects import seems_to_change, seems_to_destroy
from halflap.graph.need import need_of
from halflap.graph.supply import (
    FAN_OUT,
    MENTIONED,
    NOT_ALL,
    foreign,
    lists_itself,
    named_thing,
    names_a_thing,
    offers,
)
from halflap.graph.workflow import many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.graph.edge import Edge, Ports
    from halflap.graph.have import Have
    from halflap.graph.named import Named
    from halflap.graph.need import Need
    from halflap.graph.supply import Offer

__all__ = ["AIMLESS", "APART", "CHANGING", "MOST_OPEN", "TOOL", "Flows", "Shared", "Terms"]

TOOL = 1.0
"""What a call costs at least."""
SECOND = 0.2
"""What a second of waiting costs; no more than a tool does, however slow one is."""
AIMLESS = 1.9
"""What it costs to begin with a call that uses nothing of what is at hand, where something is: who says what he has means
it to be used, not all that there is to be gone through."""
CHANGING = 2.0
"""What it costs to change something on the way: two more calls that only read are preferred."""

APART = 4.0
"""What it costs to pair what is at hand with each of many, where somebody tells which of them it goes with."""
MOST_OPEN = 50
"""A tool that lacks more values than this is in no plan: neither would anybody read it."""

_LEAST_LOOKED_AT = 3
"""So many at least are looked at for each of several questions."""


class Flows(Protocol):
    """What is asked of a graph."""

    @property
    def tools(self) -> Mapping[str, Ports]:
        """All tools, by name."""
        ...

    @property
    def named(self) -> Named:
        """The names of what tools return; of others than these, too, where some are left out."""
        ...

    def into(self, tool: str) -> Sequence[Edge]:
        """Give the edges to a tool."""
        ...


class Shared:
    """What holds for each tool that is only on the way, whatever is wanted: one for all questions with the same at hand."""

    def __init__(self, most: int | None = None) -> None:
        """`most`: so many tools are looked at for all of the questions; the first may take half of it, the next half of the rest."""
        self.needs: dict[str, Need | None] = {}
        self.offers: dict[str, Mapping[str, Sequence[tuple[int, Offer]]]] = {}
        self._left = most

    def take(self) -> int | None:
        """Say how many tools may be looked at for the next question, besides those that were before; None if all."""
        if self._left is None:
            return None
        taken = max(_LEAST_LOOKED_AT, self._left // 2)
        self._left -= taken
        return taken


class Terms:
    """What holds for each tool, worked out once, when it is asked for."""

    def __init__(
        self,
        graph: Flows,
        have: Have,
        wanted: frozenset[str] = frozenset(),
        *,
        asked: frozenset[str] = frozenset(),
        closed: frozenset[str] = frozenset(),
        every: bool = True,
        shared: Shared | None = None,
    ) -> None:
        """`wanted`: tools that are to be called, whatever they do; `every`: what is changed may be all that is found.

        `asked`: tools that may change something on the way; `closed`: those that no other may tell to what. `shared`: what was
        worked out for others that were wanted, of the same graph, with the same at hand, asked and closed, and not `every`.
        """
        self.graph = graph
        self.have = have
        self.wanted = wanted
        self.asked = asked
        self.closed = closed
        self.every = every
        self.barred: set[tuple[str, str]] = set()
        """Tools, each with one that it may take nothing from, since that one is called in a loop."""
        self.undecided: dict[str, str] = {}
        """Tools that are done to no more than one, as of something at hand it cannot be told whether it says to which."""
        self._shared = Shared() if shared is None else shared
        self._own = Shared()
        self._left = self._shared.take()
        self._costs: dict[str, float] = {}

    def need(self, tool: str) -> Need | None:
        """Say what a tool needs; None of one that may not be called, or that needs too much."""
        is_wanted = tool in self.wanted
        needs = self._own.needs if is_wanted else self._shared.needs
        if tool not in needs:
            ports = self.graph.tools.get(tool)
            may = is_wanted or tool in self.asked
            refused = ports is None or (not may and seems_to_change(ports))
            need = None if ports is None or refused else need_of(ports, self.have, is_wanted=is_wanted)
            needs[tool] = None if need is not None and len(need.open) > MOST_OPEN else need
        return needs[tool]

    def cost(self, tool: str) -> float:
        """Say what a call costs itself."""
        if tool not in self._costs:
            need = self.need(tool)
            assert need is not None, "only what may be called has a cost"
            cost = TOOL + min(TOOL, SECOND * (need.ports.latency_ms or 0.0) / 1_000)
            if need.is_for_each:
                cost += FAN_OUT
            if self.have and not need.open and not need.uses_have:
                cost += AIMLESS
            if tool not in self.wanted and seems_to_change(need.ports):
                cost += CHANGING
            self._costs[tool] = cost
        return self._costs[tool]

    def offers(self, tool: str) -> Mapping[str, Sequence[tuple[int, Offer]]]:
        """Give what each other tool that may be called offers for what a tool needs, by the number of the unit.

        What changes something gets nothing that would do it to all that is found, unless that is asked for.
        """
        found = self.all_offers(tool)
        if tool in self.closed:
            return {}
        if self.may_be_all(tool):
            return found
        kept = {
            source: [(at, one) for at, one in made if not self._is_of_many(tool, one)]
            for source, made in found.items()
            if (tool, source) not in self.barred
        }
        return {source: made for source, made in kept.items() if made}

    def is_guarded(self, tool: str) -> bool:
        """Say whether a tool changes something, so that one has to say to what."""
        return seems_to_change(self.graph.tools[tool])

    def may_be_all(self, tool: str) -> bool:
        """Say whether a tool may be called for each of what is found."""
        return (self.every and tool not in self.undecided) or not self.is_guarded(tool)

    def to_choose(self, tool: str) -> set[int]:
        """Give the units of a tool that others have many values for, of which one has to be chosen."""
        taken = self.offers(tool)
        return {
            at
            for source, made in self.all_offers(tool).items()
            for at, one in made
            if (at, one) not in taken.get(source, ())
        }

    def _is_of_many(self, tool: str, offer: Offer) -> bool:
        ports = self.graph.tools[tool]
        if not seems_to_destroy(ports):
            return any(one.fan_out for one in offer.given)
        # An array of all that is found destroys as much as a call for each.
        arrays = {slot.path for slot in ports.slots if slot.type.kind == "array"}
        return any(one.origin == "step" and (many(one.source) or one.slot in arrays) for one in offer.given)

    def all_offers(self, tool: str) -> Mapping[str, Sequence[tuple[int, Offer]]]:
        """Give what is offered, whether or not it is to be taken."""
        made = self._own.offers.get(tool)
        if made is not None:
            return made
        edges = self.graph.into(tool)
        is_own = tool in self.wanted or any(edge.source in self.wanted for edge in edges)
        if is_own or tool not in self._shared.offers:
            kept = self._own if is_own else self._shared
            kept.offers[tool] = self._offered(tool, edges)
        else:
            kept = self._shared
        return kept.offers[tool]

    def may_look_at(self, tool: str) -> bool:
        """Say whether a tool may still be looked at: not so many are that the answer would come late."""
        return self._left is None or self._left > 0 or tool in self._own.offers or tool in self._shared.offers

    def _offered(self, tool: str, edges: Sequence[Edge]) -> Mapping[str, Sequence[tuple[int, Offer]]]:
        found: dict[str, list[tuple[int, Offer]]] = {}
        if self._left is not None:
            self._left -= 1
        need = self.need(tool)
        assert need is not None, "only what may be called is supplied"
        for edge in edges:
            if edge.source != tool and self.need(edge.source) is not None:
                made = list(offers(need, edge, self.graph.tools[edge.source], self.have))
                if made:
                    found[edge.source] = made
        return self._from_home_first(need, self._listed(need, self._paired(need, found)))

    def _paired(
        self, need: Need, found: Mapping[str, Sequence[tuple[int, Offer]]]
    ) -> Mapping[str, Sequence[tuple[int, Offer]]]:
        """Have many values cost more where they come without what is at hand, and another has both together.

        A coach at hand is one of one train: who tells of trains and their coaches knows of which.
        """
        named = {
            one.slot
            for one in need.given
            if one.origin == "have" and names_a_thing(one.slot) and not is_got(need.ports, one.slot[0].key)
        }
        if not named or not found:
            return found
        telling = {
            edge.source
            for edge in self.graph.into(need.ports.tool)
            if edge.source in found and any(link.target in named for link in edge.links)
        }
        known = {at for source in telling for at, _ in found[source]}
        if not known:
            return found
        return {
            source: [
                (at, replace(one, cost=one.cost + APART))
                if at in known and source not in telling and any(given.fan_out for given in one.given)
                else (at, one)
                for at, one in made
            ]
            for source, made in found.items()
        }

    def _listed(
        self, need: Need, found: Mapping[str, Sequence[tuple[int, Offer]]]
    ) -> Mapping[str, Sequence[tuple[int, Offer]]]:
        """Have things cost more that come from a list of all that mention them, where there is a list of them all."""
        things = {at: thing for at, unit in enumerate(need.open) if (thing := named_thing(unit.path))}
        if not things or len(found) == 1:
            return found
        tools = self.graph.tools
        mentioning: dict[int, set[str]] = {}
        listed: set[int] = set()
        for source, made in found.items():
            asked = self.need(source)
            if asked is None or asked.open:
                continue
            for at, offer in made:
                if at not in things or not any(one.fan_out for one in offer.given):
                    continue
                if lists_itself(tools[source], offer, things[at]):
                    listed.add(at)
                elif not asked.uses_have and not self.have.is_among(tools[source]):
                    mentioning.setdefault(at, set()).add(source)
        if not listed & mentioning.keys():
            return found
        to_all = self.every and any(self.is_guarded(one) for one in self.wanted if one in tools)
        more = NOT_ALL if to_all else MENTIONED
        return {
            source: [
                (at, replace(one, cost=one.cost + more))
                if at in listed and source in mentioning.get(at, ())
                else (at, one)
                for at, one in made
            ]
            for source, made in found.items()
        }

    def _from_home_first(
        self, need: Need, found: Mapping[str, Sequence[tuple[int, Offer]]]
    ) -> Mapping[str, Sequence[tuple[int, Offer]]]:
        """Have what a tool's own server offers it cost more from others: anybody can return a value of any name."""
        tools, home = self.graph.tools, need.ports.server
        own = {at for source, made in found.items() if tools[source].server == home for at, _ in made}
        if not own:
            return found
        dearer: dict[str, Sequence[tuple[int, Offer]]] = {}
        for source, made in found.items():
            asked = self.need(source)
            dearer[source] = [
                (at, replace(one, cost=one.cost + foreign(need, at, asked)))
                if at in own and tools[source].server != home
                else (at, one)
                for at, one in made
            ]
        return dearer
