"""Processor time of analysing and optimising workflows, against fixed limits.

The footprint of a block-structured workflow of 500 tasks takes less than 100 ms, from the net on; a verdict on two such workflows of
200 tasks less than 1 s, however they differ; scoring a sequence of 1,000 tasks less than 1 s; optimising a workflow of 50 tasks less
than 2 s, for every target and with both engines, its verdict included. Nets are random, of sequences, parallel blocks, choices and
loops; the worst of all rounds counts. For comparison, sixteen parallel tasks are also analysed by states, which takes seconds.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.workflows.analysis.compare import compare
from halflap.workflows.analysis.footprint import Footprint, footprint
from halflap.workflows.analysis.footprint import by_states as states
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.net import Condition, Flow, Net, Task
from halflap.workflows.optimize import genetic
from halflap.workflows.optimize.goal import Goal
from halflap.workflows.optimize.optimizer import TARGETS, optimize
from halflap.workflows.score.score import score

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.workflows.model.net import Gate
    from halflap.workflows.optimize.optimizer import Engine

FOOTPRINT_TASKS, FOOTPRINT_BOUND = 500, 0.1
VERDICT_TASKS, VERDICT_BOUND = 200, 1.0
SCORED_TASKS, SCORED_BOUND, SCORED_ROUNDS = 1_000, 1.0, 3
OPTIMISED_TASKS, OPTIMISED_BOUND, OPTIMISED_ROUNDS = 50, 2.0, 3
ROUNDS = 10

Tree = tuple[Any, ...]


def random_tree(chance: random.Random, names: list[str]) -> Tree:
    if len(names) == 1:
        return ("task", names[0])
    kind = chance.choice(["sequence", "sequence", "and", "xor", "loop"])
    count = 2 if kind == "loop" else min(len(names), chance.randint(2, 5))
    cuts = [0, *sorted(chance.sample(range(1, len(names)), count - 1)), len(names)]
    return (kind, *(random_tree(chance, names[cuts[at] : cuts[at + 1]]) for at in range(count)))


def changed(chance: random.Random, tree: Tree) -> Tree:
    """Return a tree with some blocks of another kind."""
    kind, *parts = tree
    if kind == "task":
        return tree
    if kind != "loop" and chance.random() < 0.1:
        kind = chance.choice(["sequence", "and", "xor"])
    return (kind, *(changed(chance, part) for part in parts))


def net_of(tree: Tree) -> Net:
    """Make the net of a tree; gates are silent tasks."""
    tasks: dict[str, Task] = {}
    flows: list[Flow] = []

    def task(label: str | None, join: Gate = "xor", split: Gate = "and") -> str:
        name = f"t{len(tasks)}"
        tasks[name] = Task(name, label, join, split)
        return name

    def lay(one: Tree) -> tuple[str, str]:
        kind, *parts = one
        if kind == "task":
            only = task(parts[0])
            return only, only
        if kind == "sequence":
            ends = [lay(part) for part in parts]
            flows.extend(Flow(ends[at][1], ends[at + 1][0]) for at in range(len(ends) - 1))
            return ends[0][0], ends[-1][1]
        if kind == "loop":
            begin, end = task(None), task(None, "xor", "xor")
            (first, last), (again, back) = lay(parts[0]), lay(parts[1])
            flows.extend([Flow(begin, first), Flow(last, end), Flow(end, again), Flow(back, begin)])
            return begin, end
        begin, end = task(None, "xor", kind), task(None, kind, "and")
        for part in parts:
            first, last = lay(part)
            flows.extend([Flow(begin, first), Flow(last, end)])
        return begin, end

    first, last = lay(tree)
    places = {"i": Condition("i"), "o": Condition("o")}
    return Net("random", "i", "o", tasks, places, (Flow("i", first), *flows, Flow(last, "o")))


def took(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def names(count: int) -> list[str]:
    return [f"a{at}" for at in range(count)]


def report(what: str, times: list[float], bound: float) -> bool:
    times.sort()
    median, most = times[len(times) // 2], times[-1]
    print(f"  {what:<52} {median * 1e3:>8.1f} ms {most * 1e3:>8.1f} ms   under {bound * 1e3:.0f} ms")
    return most < bound


def measure_footprints(chance: random.Random) -> bool:
    trees = [random_tree(chance, names(FOOTPRINT_TASKS)) for _ in range(ROUNDS)]
    wide: Tree = ("and", *(("task", name) for name in names(FOOTPRINT_TASKS)))
    holds = True
    for what, listed in (("blocks at random", trees), ("all in parallel", [wide] * ROUNDS)):
        nets = [net_of(tree) for tree in listed]
        times = [took(lambda net=net: footprint(Study(net))) for net in nets]  # type: ignore[misc]
        holds &= report(f"footprint, {FOOTPRINT_TASKS} tasks, {what}", times, FOOTPRINT_BOUND)
    return holds


def measure_verdicts(chance: random.Random) -> bool:
    every = names(VERDICT_TASKS)
    leaves = [("task", name) for name in every]
    half = len(leaves) // 2
    pairs: dict[str, list[tuple[Tree, Tree]]] = {
        "the same": [],
        "changed here and there": [],
        "two others": [],
    }
    for _ in range(ROUNDS):
        tree = random_tree(chance, every)
        pairs["the same"].append((tree, tree))
        pairs["changed here and there"].append((tree, changed(chance, tree)))
        pairs["two others"].append((tree, random_tree(chance, every)))
    pairs["a sequence made parallel"] = [(("sequence", *leaves), ("and", *leaves))]
    halves = ("sequence", ("and", *leaves[:half]), ("and", *leaves[half:]))
    pairs["all parallel, and one half after the other"] = [(("and", *leaves), halves)]
    holds = True
    for what, listed in pairs.items():
        times = []
        for one, other in listed:
            old, new = net_of(one), net_of(other)
            began = time.process_time()
            verdict = compare(old, new)
            verdict.response()
            times.append(time.process_time() - began)
            holds &= verdict.conclusive
        holds &= report(f"verdict, {VERDICT_TASKS} tasks, {what}", times, VERDICT_BOUND)
    return holds


def measure_scores() -> bool:
    line = net_of(("sequence", *(("task", name) for name in names(SCORED_TASKS))))
    times = [took(lambda: score(line).response()) for _ in range(SCORED_ROUNDS)]
    return report(f"score, {SCORED_TASKS} tasks, one after the other", times, SCORED_BOUND)


def busy(chance: random.Random, net: Net, resources: list[str | None]) -> Net:
    """Add durations, resources, and data: each task reads what some tasks before it wrote."""
    tasks = {}
    written: list[str] = []
    for name, task in net.tasks.items():
        if task.label is None:
            # A gate declares what it reads, so that its choice can be moved.
            tasks[name] = replace(task, reads=frozenset(chance.sample(written, min(1, len(written)))))
            continue
        needs = frozenset(chance.sample(written, min(len(written), chance.choice([0, 1, 1, 2]))))
        tasks[name] = replace(
            task,
            duration=chance.randint(1, 9),
            cost=chance.randint(0, 4),
            reads=needs,
            writes=frozenset([name]),
            resource=chance.choice(resources),
        )
        written.append(name)
    return replace(net, tasks=tasks)


def measure_optimising(chance: random.Random) -> bool:
    every = names(OPTIMISED_TASKS)
    lines = [net_of(("sequence", *(("task", name) for name in every))) for _ in range(OPTIMISED_ROUNDS)]
    blocks = [net_of(random_tree(chance, every)) for _ in range(OPTIMISED_ROUNDS)]
    nets = {
        "one after the other": [busy(chance, net, [None]) for net in lines],
        "shared resources": [busy(chance, net, [None, "bob", "eve"]) for net in lines],
        "blocks at random": [busy(chance, net, [None, None, "bob"]) for net in blocks],
    }
    engines: list[Engine] = ["beam", "gepa"] if genetic.is_installed() else ["beam"]
    # Import everything before the measurement.
    optimize(nets["one after the other"][0], Goal("behavioral"), engine=engines[-1])
    holds = True
    for what, listed in nets.items():
        for engine in engines:
            times = []
            for net in listed:
                for target in TARGETS:
                    began = time.process_time()
                    found = optimize(net, Goal(target), engine=engine)
                    found.response()
                    times.append(time.process_time() - began)
                    holds &= (found.metrics["after"].expected_makespan or 0) <= (
                        found.metrics["before"].expected_makespan or 0
                    )
            holds &= report(f"{engine}, {OPTIMISED_TASKS} tasks, {what}", times, OPTIMISED_BOUND)
    return holds


def compare_ways() -> bool:
    net = net_of(("and", *(("task", name) for name in names(16))))
    found: dict[str, object] = {}
    by_blocks = took(lambda: found.update(blocks=footprint(Study(net))))
    by_states = took(lambda: found.update(states=states(Study(net))))
    print(
        f"  16 parallel tasks: by blocks {by_blocks * 1e3:.2f} ms, by states {by_states:.2f} s, {by_states / by_blocks:,.0f} times as long"
    )
    return isinstance(found["blocks"], Footprint) and found["blocks"] == found["states"]


def main() -> int:
    chance = random.Random(7)
    print(f"Workflows (processor time){'median':>38} {'most':>11}")
    holds = [
        measure_footprints(chance),
        measure_verdicts(chance),
        measure_scores(),
        measure_optimising(chance),
        compare_ways(),
    ]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
