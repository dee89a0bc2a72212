"""How long it takes to know what feeds what, over 585 and over 10,000 tools.

Three claims, in seconds of processor time: all edges among 585 tools take less than 0.1 s, among 10,000 less than 3 s; and
when one tool of 10,000 is changed, its edges, in and out, are there again in less than 20 ms. Beside them: what it would
take to compare all tools pair by pair, from a sample of pairs. The tools are generated, like real ones: servers of a
dozen tools, things of their own and things that many have, names that everybody uses, and outputs that half of them tell.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.core.values import Tool
from halflap.graph.between import edge_between
from halflap.graph.graph import Graph
from halflap.graph.node import node_of
from halflap.graph.ports import ports_of
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.graph.edge import Ports

BOUNDS = {585: 0.1, 10_000: 3.0}
MOST_UPDATE_MS = 20.0
UPDATES = 50
PAIRS = 20_000
ROUNDS = 3

COMMON_THINGS = [
    "user",
    "project",
    "file",
    "message",
    "event",
    "task",
    "account",
    "document",
    "order",
    "ticket",
]
EVERYWHERE = [
    "query",
    "limit",
    "cursor",
    "name",
    "path",
    "text",
    "status",
    "type",
    "url",
    "date",
    "title",
    "description",
]
VERBS = ["get", "list", "search", "create", "update", "delete", "export"]
SYLLABLES = [a + b for a in "bcdfgklmnprstvz" for b in "aeiou"]


def thing(chance: random.Random) -> str:
    return "".join(chance.choices(SYLLABLES, k=3))


def record(name: str, others: list[str], chance: random.Random) -> dict[str, Any]:
    """Make the schema of a thing: its id, where it belongs, and what everybody has."""
    fields: dict[str, Any] = {
        "id": {"type": "string"},
        f"{name}_code": {"type": "string"},
        "name": {"type": "string"},
        "status": {"type": "string", "enum": ["open", "closed"]},
        "created_at": {"type": "string", "format": "date-time"},
        "amount": {"type": "number"},
        "url": {"type": "string", "format": "uri"},
    }
    kept = dict(chance.sample(sorted(fields.items()), k=5))
    return {
        "type": "object",
        "properties": {**kept, **{f"{other}_id": {"type": "string"} for other in others}},
    }


def definition(server: str, things: list[str], chance: random.Random) -> dict[str, Any]:
    name, verb = chance.choice(things), chance.choice(VERBS)
    others = [chance.choice(things), chance.choice(COMMON_THINGS)][: chance.randint(0, 2)]
    many = verb in {"list", "search"}
    takes = chance.sample(EVERYWHERE, k=chance.randint(0, 3))
    required = [] if many else [f"{name}_id" if chance.random() < 0.8 else "id"]
    if chance.random() < 0.3:
        required.append(f"{chance.choice(things)}_id")
    output = None
    if chance.random() < 0.5:
        one = record(name, others, chance)
        output = (
            {
                "type": "object",
                "properties": {
                    f"{name}s": {"type": "array", "items": one},
                    "next_cursor": {"type": "string"},
                },
            }
            if many
            else one
        )
    return {
        "name": f"{verb}_{name}{'s' if many else ''}",
        "description": f"{verb.title()} {name}s of {server}. Takes an id, tells {' and '.join(others) or 'nothing'} more.",
        "inputSchema": {
            "type": "object",
            "properties": {one: {"type": "string"} for one in dict.fromkeys([*required, *takes])},
            "required": list(dict.fromkeys(required)),
        },
        "outputSchema": output,
    }


def catalogue(count: int) -> list[Ports]:
    chance = random.Random(count)
    made: list[Ports] = []
    while len(made) < count:
        server = thing(chance)
        things = [thing(chance) for _ in range(3)] + [chance.choice(COMMON_THINGS)]
        taken: set[str] = set()
        for _ in range(chance.randint(4, 20)):
            told = definition(server, things, chance)
            original = told["name"]
            if original in taken:
                continue
            taken.add(original)
            tool = Tool(
                name=f"mcp__{server}{len(made)}__{original}",
                server=server,
                original_name=original,
                description=told["description"],
                input_schema=told["inputSchema"],
                output_schema=told["outputSchema"],
            )
            made.append(ports_of(tool, parse_schema(tool)))
    return made[:count]


def timed(action: Callable[[], Any]) -> float:
    # Processor time: what it takes, not what else the machine was doing; nor what it takes to look through what was there
    # before, which would be garbage of the measurement.
    gc.collect()
    gc.freeze()
    began = time.process_time()
    action()
    return time.process_time() - began


def pair_by_pair(ports: list[Ports]) -> float:
    """Estimate how long it takes to look at all pairs, from some of them."""
    chance = random.Random(0)
    nodes = [node_of(one, number) for number, one in enumerate(ports)]
    pairs = [(chance.choice(nodes), chance.choice(nodes)) for _ in range(PAIRS)]

    def compare() -> None:
        for source, target in pairs:
            edge_between(source, target, lambda _: 1.0, None)

    return timed(compare) / PAIRS * len(ports) ** 2


def update_ms(ports: list[Ports]) -> float:
    """Measure what it takes, at worst, to change one tool and have its edges again."""
    graph = Graph(ports)
    for _ in graph.edges():
        pass
    chance = random.Random(1)
    times = []
    for one in chance.sample(ports, UPDATES):
        changed = replace(one, description=f"{one.description} Changed.", places=one.places[1:])

        def change(new: Ports = changed) -> None:
            graph.put(new)
            graph.into(new.tool)
            graph.out_of(new.tool)

        times.append(timed(change))
    return max(times) * 1000


def main() -> int:
    holds = True
    for count, most in BOUNDS.items():
        ports = catalogue(count)
        found = 0

        def all_edges(given: list[Ports] = ports) -> None:
            nonlocal found
            found = sum(1 for _ in Graph(given).edges())

        seconds = min(timed(all_edges) for _ in range(ROUNDS))
        beside = pair_by_pair(ports)
        holds &= seconds <= most
        print(
            f"  {count:6,} tools: {found:9,} edges in {seconds:7.3f} s   at most {most:g} s"
            f"   pair by pair {beside:8.2f} s, {beside / seconds:6.1f} x"
        )
    worst = update_ms(catalogue(10_000))
    holds &= worst <= MOST_UPDATE_MS
    print(
        f"  10,000 tools: one changed, {worst:6.2f} ms at worst of {UPDATES}   at most {MOST_UPDATE_MS:g} ms"
    )
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
