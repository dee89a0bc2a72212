"""How good the edges are, on real traces: outputs learned from one half of the runs, lineage off."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.graph.edge import path_text
from halflap.graph.graph import Graph
from halflap.graph.ports import ports_of
from halflap.learn import Learned, infer
from halflap.observe.known import known_of
from halflap.schema import parse_schema
from halflap.store import ToolKey
from halflap.values import Tool
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.edge import Edge

SHORTEST = 5
FEWEST = 5
PLAUSIBLE = Path(__file__).with_name("plausible.txt")


def leaves(value: Any, *, keys: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if keys:
                yield key
            yield from leaves(inner, keys=keys)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, keys=keys)
    elif isinstance(value, str):
        yield value


def runs() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in shared_data("airline_traces.jsonl").read_text().splitlines():
        call = json.loads(line)
        found[call["run"]].append(call)
    return {run: sorted(calls, key=lambda call: call["seq"]) for run, calls in found.items()}


def flows() -> set[tuple[str, str]]:
    """Give the pairs between which values went often."""
    counts: Counter[tuple[str, str]] = Counter()
    for calls in runs().values():
        for at, source in enumerate(calls):
            if source["is_error"]:
                continue
            told = {text for text in leaves(source["result"], keys=True) if len(text) >= SHORTEST}
            for target in calls[at + 1 :]:
                if target["tool"] != source["tool"]:
                    given = leaves(target["arguments"], keys=False)
                    counts[source["tool"], target["tool"]] += sum(text in told for text in given)
    return {pair for pair, times in counts.items() if times >= FEWEST}


@cache
def found() -> dict[tuple[str, str], Edge]:
    told = json.loads(shared_data("airline_tools.json").read_text())
    half = sorted(runs())[::2]
    results: dict[str, list[Any]] = defaultdict(list)
    for run in half:
        for call in runs()[run]:
            if not call["is_error"]:
                results[call["tool"]].append(call["result"])
    ports = []
    for one in told["tools"]:
        name = one["name"]
        tool = Tool(
            name=f"mcp__airline__{name}",
            server="airline",
            original_name=name,
            description=one["description"],
            input_schema=one["inputSchema"],
        )
        texts = [value for value in results[name] if isinstance(value, str)]
        structured = [value for value in results[name] if not isinstance(value, str)]
        known = known_of(ToolKey("airline", name, ""), Learned(infer(structured), infer(texts)))
        learned = None if known is None else known.type
        sure = 0.0 if known is None else known.confidence
        ports.append(ports_of(tool, parse_schema(tool), learned, learned_confidence=sure))
    return {
        (edge.source.rpartition("__")[2], edge.target.rpartition("__")[2]): edge
        for edge in Graph(ports).edges()
        if edge.source != edge.target
    }


def plausible() -> set[tuple[str, str]]:
    lines = [line for line in PLAUSIBLE.read_text().splitlines() if ":" in line and not line.startswith("#")]
    return {
        (source, target)
        for line in lines
        for source, _, rest in [line.partition(":")]
        for target in rest.split()
    }


def test_nine_of_ten_pairs_with_real_flows_are_edges() -> None:
    real = flows()
    assert len(real) >= 20
    missed = real - found().keys()
    assert len(missed) <= 0.1 * len(real), missed


def test_at_most_three_of_ten_edges_are_implausible() -> None:
    odd = found().keys() - plausible()
    assert len(found()) >= 40
    assert len(odd) <= 0.3 * len(found()), odd


def test_what_really_flows_is_mapped() -> None:
    wanted = {
        ("get_user_details", "get_reservation_details"): ("reservations[]", "reservation_id"),
        ("get_user_details", "update_reservation_baggages"): ("payment_methods.{key}", "payment_id"),
        ("search_direct_flight", "book_reservation"): ("[].flight_number", "flights[].flight_number"),
        ("get_user_details", "book_reservation"): ("saved_passengers[]", "passengers[]"),
        ("get_reservation_details", "get_user_details"): ("user_id", "user_id"),
    }
    for pair, mapping in wanted.items():
        links = {(path_text(link.source), path_text(link.target)) for link in found()[pair].links}
        assert mapping in links, (pair, links)
