"""How well links are found in a large real API, and what that costs.

For each flow that is known to be true: does the best link of every parameter start at the right field? With tools named
by operation ids and renamed to verb and noun, in all and by API area. `--weights` moves each weight down and up and shows
the flows gained and lost by area: a change that helps one area and hurts others is fitted to that area. `--sample FILE`
writes seeded edges of high confidence, without the confidence, to be judged by a reader. `--plans` times suggestions,
`--large` six copies of the API with the other catalogues. All times are CPU seconds.

The data are not part of the project: pass their folder, or put it beside the project as `shared/data`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import resource
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

from halflap.core.values import Tool
from halflap.graph.edges import Graph, evidence
from halflap.graph.paths import path_text
from halflap.graph.plan import Target, plan, workflow_json
from halflap.graph.ports import ports_of
from halflap.schema import compact

VERBS = re.compile(
    "add|approve|cancel|check|clear|close|convert|create|delete|disable|dismiss|download|enable|export|get|list|lock|"
    "mark|merge|move|ping|put|reject|remove|render|rename|replace|request|rerun|reset|restore|review|revoke|search|set|"
    "star|start|stop|submit|suspend|transfer|unlock|unstar|update|upload"
)
PREPOSITIONS = {"as", "at", "by", "for", "from", "in", "of", "on", "to", "with"}
CONFIDENT = 0.8
SAMPLED = 100
PLANNED = 200


def verb_noun(names: list[str]) -> dict[str, str]:
    made = {name: verb_first(name, whole=False) for name in names}
    times = Counter(made.values())
    return {name: new if times[new] == 1 else verb_first(name, whole=True) for name, new in made.items()}


def verb_first(name: str, *, whole: bool) -> str:
    words = name.split("_")
    at = next((at for at, word in enumerate(words) if VERBS.fullmatch(word)), 0)
    group, verb, rest = words[:at], words[at], words[at + 1 :]
    if not whole and rest and rest[0] not in PREPOSITIONS:
        group = []
    elif verb != "list":
        group = [*group[:-1], *(word.removesuffix("s") for word in group[-1:])]
    return "_".join([verb, *group, *rest])


def tools_of(definitions: list[dict[str, Any]], server: str, renamed: dict[str, str]) -> list[Tool]:
    return [
        Tool(
            name=f"mcp__{server}__{renamed.get(one['name'], one['name'])}",
            server=server,
            original_name=renamed.get(one["name"], one["name"]),
            description=one.get("description") or "",
            input_schema=one["inputSchema"],
            output_schema=one.get("outputSchema"),
        )
        for one in definitions
    ]


def right_flows(graph: Graph, flows: list[dict[str, Any]], renamed: dict[str, str]) -> dict[int, list[str]]:
    """Return for each flow what is wrong with it."""
    found = {}
    for at, flow in enumerate(flows):
        source, target = (f"mcp__api__{renamed.get(flow[end], flow[end])}" for end in ("from", "to"))
        edge = graph.edge(source, target)
        links = [] if edge is None else edge.to_json()["mappings"]
        wrong = []
        for parameter, place in flow["links"].items():
            own = [link for link in links if link["to"] == parameter]
            best = max(own, key=lambda link: link["confidence"], default=None)
            if best is None or not re.search(place, best["from"]):
                wrong.append(f"{parameter} <- {best and best['from']}")
        found[at] = wrong
    return found


def report(definitions: list[dict[str, Any]], flows: list[dict[str, Any]]) -> None:
    for style in ("operation ids", "verb_noun"):
        renamed = verb_noun([one["name"] for one in definitions]) if style == "verb_noun" else {}
        began, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        graph = Graph(ports_of(one) for one in tools_of(definitions, "api", renamed))
        built = time.process_time() - began
        edges = sum(1 for _ in graph.edges())
        took = time.process_time() - began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
        wrong = right_flows(graph, flows, renamed)
        right = sum(not one for one in wrong.values())
        areas = Counter(flows[at]["to"].split("_")[0] for at, one in wrong.items() if not one)
        every = Counter(flow["to"].split("_")[0] for flow in flows)
        print(
            f"{style}: {right} of {len(flows)} flows right; graph {built:.2f} s, all {edges} edges {took:.2f} s, {grown:.0f} MB"
        )
        print("   " + ", ".join(f"{area} {areas[area]}/{every[area]}" for area in sorted(every)))
        for at, one in wrong.items():
            if one:
                print(f"   wrong: {flows[at]['from']} -> {flows[at]['to']}: {'; '.join(one)}")


def weights(definitions: list[dict[str, Any]], flows: list[dict[str, Any]]) -> None:
    """Move each weight, and show which areas gain and lose: none should gain what the others lose."""
    styles: tuple[dict[str, str], ...] = ({}, verb_noun([one["name"] for one in definitions]))
    ports = [[ports_of(one) for one in tools_of(definitions, "api", renamed)] for renamed in styles]
    names = [name for name in vars(evidence) if re.fullmatch("_[A-Z_]+", name)]
    before = [right_flows(Graph(own), flows, renamed) for own, renamed in zip(ports, styles, strict=True)]
    for name in names:
        value = getattr(evidence, name)
        if not isinstance(value, float):
            continue
        for factor in (0.9, 1.1):
            setattr(evidence, name, min(0.99, value * factor))
            evidence._identifies.cache_clear()  # noqa: SLF001 -- it holds what the weight was before
            changes: Counter[str] = Counter()
            for own, renamed, old in zip(ports, styles, before, strict=True):
                for at, wrong in right_flows(Graph(own), flows, renamed).items():
                    changes[flows[at]["to"].split("_")[0]] += bool(old[at]) - bool(wrong)
            told = ", ".join(f"{area} {change:+d}" for area, change in sorted(changes.items()) if change)
            print(f"{name} x {factor}: {told or 'no change'}")
        setattr(evidence, name, value)


def sample(definitions: list[dict[str, Any]], file: Path, seed: int) -> None:
    graph = Graph(ports_of(one) for one in tools_of(definitions, "api", {}))
    edges = [edge for edge in graph.edges() if edge.confidence >= CONFIDENT and not edge.is_pagination]
    chosen = random.Random(seed).sample(edges, SAMPLED)
    lines = [
        f"# {SAMPLED} links to be judged",
        "",
        "Would this field of the first tool's result be a right value for this parameter of the second?",
        "",
    ]
    for at, edge in enumerate(chosen, 1):
        link = edge.links[0]
        source, target = (graph.tools[end] for end in (edge.source, edge.target))
        place = next(one for one in source.places if one.path == link.source)
        slot = next(one for one in target.slots if one.path == link.target)
        lines += [
            f"{at}. from `{source.name}`: {described(source.description)}",
            f"   - field `{path_text(place.path)}`, {compact(place.type)[:60]}: {described(place.description)}",
            f"   - to `{target.name}`: {described(target.description)} (requires {', '.join(sorted(target.required)) or 'nothing'})",
            f"   - parameter `{path_text(slot.path)}`, {compact(slot.type)[:60]}: {described(slot.description)}",
        ]
    file.write_text("\n".join(lines) + "\n")
    print(f"{len(edges)} edges of confidence {CONFIDENT} or more; {SAMPLED} written to {file}")


def described(text: str) -> str:
    return " ".join(text.split())[:160] or "not described"


def large(definitions: list[dict[str, Any]], folder: Path) -> None:
    """Six copies of the API and the other catalogues."""
    tools = [tool for copy in range(6) for tool in tools_of(definitions, f"api{copy}", {})]
    for name, server in json.loads((folder / "live_tools.json").read_text()).items():
        tools += tools_of(server["tools"], name, {})
    tools += tools_of(json.loads((folder / "airline_tools.json").read_text())["tools"], "airline", {})
    began = time.process_time()
    graph = Graph(ports_of(one) for one in tools)
    built = time.process_time() - began
    edges = sum(1 for _ in graph.edges())
    print(f"{len(tools)} tools: graph {built:.1f} s, {edges} edges {time.process_time() - began:.1f} s")


def plans(definitions: list[dict[str, Any]]) -> None:
    """Time suggestions for seeded tools of the API: the first after the graph was built, and many after that."""
    graph = Graph(ports_of(one) for one in tools_of(definitions, "api", {}))
    took = []
    for name in random.Random(1).sample(sorted(graph.tools), PLANNED):
        began = time.process_time()
        found = plan(graph, want=[Target("tool", name)], have={"org": "acme", "username": "ada"})
        for one in found.suggestions:
            workflow_json(one)
        took.append(1000 * (time.process_time() - began))
    first, *later = took
    late = statistics.quantiles(later, n=100)
    print(
        f"plans: first {first:.0f} ms, median {late[49]:.0f} ms, p95 {late[94]:.0f} ms, with three programs each"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "folder", nargs="?", type=Path, default=Path(__file__).parents[2] / "shared" / "data"
    )
    arguments.add_argument("--weights", action="store_true")
    arguments.add_argument("--large", action="store_true")
    arguments.add_argument("--plans", action="store_true")
    arguments.add_argument("--sample", type=Path)
    arguments.add_argument("--seed", type=int, default=20)
    given = arguments.parse_args()
    with gzip.open(given.folder / "github_tools.json.gz", "rt") as file:
        definitions = json.load(file)
    flows = json.loads((given.folder / "github_flows.json").read_text())
    report(definitions, flows)
    if given.weights:
        weights(definitions, flows)
    if given.plans:
        plans(definitions)
    if given.large:
        large(definitions, given.folder)
    if given.sample:
        sample(definitions, given.sample, given.seed)


if __name__ == "__main__":
    main()
