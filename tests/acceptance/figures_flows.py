"""Known data flows, and the edges that the graph of a gateway has for them."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from acceptance.figures_gateway import Replay, edges_into, opened, replayed
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

    from acceptance.figures_gateway import Call

SHORTEST_VALUE = 5
"""Shorter texts may be equal by accident."""
FEWEST_VALUES = 5
"""Pairs of tools with fewer shared values are not counted as flows."""
VERBS = re.compile(
    "add|approve|cancel|check|clear|close|convert|create|delete|disable|dismiss|download|enable|export|get|list|lock|"
    "mark|merge|move|ping|put|reject|remove|render|rename|replace|request|rerun|reset|restore|review|revoke|search|set|"
    "star|start|stop|submit|suspend|transfer|unlock|unstar|update|upload"
)
"""Verbs that operation ids of REST interfaces have after the name of their group."""
PREPOSITIONS = {"as", "at", "by", "for", "from", "in", "of", "on", "to", "with"}


# Airline ---------------------------------------------------------------------------------------------


@cache
def airline_runs() -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in shared_data("airline_traces.jsonl").read_text().splitlines():
        call = json.loads(line)
        runs[call["run"]].append(call)
    return {run: sorted(calls, key=lambda call: call["seq"]) for run, calls in sorted(runs.items())}


def airline_flows(fewest: int = FEWEST_VALUES) -> set[tuple[str, str]]:
    """Return the pairs of tools where values of a result reappear in later arguments of the same run."""
    counts: Counter[tuple[str, str]] = Counter()
    for calls in airline_runs().values():
        for at, source in enumerate(calls):
            if source["is_error"]:
                continue
            told = {text for text in _texts(source["result"], keys=True) if len(text) >= SHORTEST_VALUE}
            for target in calls[at + 1 :]:
                if target["tool"] != source["tool"]:
                    given = _texts(target["arguments"], keys=False)
                    counts[source["tool"], target["tool"]] += sum(text in told for text in given)
    return {pair for pair, times in counts.items() if times >= fewest}


async def airline_edges() -> set[tuple[str, str]]:
    """Replay every second run without lineage, and return the pairs of tools that the gateway links."""
    definitions = json.loads(shared_data("airline_tools.json").read_text())["tools"]
    replay = Replay(definitions)
    calls: list[Call] = [
        (call["tool"], call["arguments"], call["result"])
        for run in list(airline_runs().values())[::2]
        for call in run
        if not call["is_error"]
    ]
    async with opened({"replay": replay}, graph={"lineage": False}) as gateway:
        await replayed(gateway, replay, calls)
        edges = [
            edge for one in definitions for edge in await edges_into(gateway, f"mcp__replay__{one['name']}")
        ]
    pairs = {tuple(edge[end].removeprefix("mcp__replay__") for end in ("from", "to")) for edge in edges}
    return {(source, target) for source, target in pairs if source != target}


def _texts(value: Any, *, keys: bool) -> Iterator[str]:
    if isinstance(value, dict):
        if keys:
            yield from value
        for inner in value.values():
            yield from _texts(inner, keys=keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, keys=keys)
    elif isinstance(value, str):
        yield value


# GitHub ----------------------------------------------------------------------------------------------


@cache
def github_tools() -> dict[str, dict[str, Any]]:
    with gzip.open(shared_data("github_tools.json.gz"), "rt") as file:
        return {tool["name"]: tool for tool in json.load(file)}


@cache
def github_flows() -> list[dict[str, Any]]:
    flows: list[dict[str, Any]] = json.loads(shared_data("github_flows.json").read_text())
    return flows


def flow_tools(random: Random, distractors: int | None) -> list[str]:
    """Return the tools of all flows, and as many random others, or all of them."""
    needed = {flow[end] for flow in github_flows() for end in ("from", "to")}
    others = sorted(github_tools().keys() - needed)
    return [*sorted(needed), *(others if distractors is None else random.sample(others, distractors))]


async def linked_right(names: Iterable[str], renamed: dict[str, str]) -> int:
    """Count the flows whose best-ranked links fill every parameter from the right place."""
    replay = Replay({**github_tools()[name], "name": renamed.get(name, name)} for name in names)
    right = 0
    async with opened({"replay": replay}) as gateway:
        for flow in github_flows():
            source, target = (f"mcp__replay__{renamed.get(flow[end], flow[end])}" for end in ("from", "to"))
            links = [
                link
                for edge in await edges_into(gateway, target)
                if edge["from"] == source
                for link in edge["mappings"]
            ]
            right += all(_fills(links, parameter, place) for parameter, place in flow["links"].items())
    return right


def _fills(links: list[dict[str, Any]], parameter: str, place: str) -> bool:
    best = max(
        (link for link in links if link["to"] == parameter), key=lambda link: link["confidence"], default=None
    )
    return best is not None and re.search(place, best["from"]) is not None


def verb_noun(names: Iterable[str]) -> dict[str, str]:
    """Rename operation ids from `things_list_for_owner` to `list_things_for_owner`."""
    made = {name: _verb_first(name, whole=False) for name in names}
    times = Counter(made.values())
    # Where the group has to tell two tools apart, it stays.
    return {name: new if times[new] == 1 else _verb_first(name, whole=True) for name, new in made.items()}


def _verb_first(name: str, *, whole: bool) -> str:
    words = name.split("_")
    at = next((at for at, word in enumerate(words) if VERBS.fullmatch(word)), 0)
    group, verb, rest = words[:at], words[at], words[at + 1 :]
    if not whole and rest and rest[0] not in PREPOSITIONS:
        group = []
    elif verb != "list":
        group = [*group[:-1], *(word.removesuffix("s") for word in group[-1:])]
    return "_".join([verb, *group, *rest])
