"""Cases of any workflow, played out with its tokens by the clock: for those that are not made of blocks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.workflows.dependence import depend
from halflap.workflows.orblocks import or_blocks
from halflap.workflows.pieces.piece import Step
from halflap.workflows.timing.clock import Clock, EndlessError
from halflap.workflows.timing.playing import ByChance, shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.workflows.net import Flow, Net
    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.timing.playing import Chooser

__all__ = ["Cases", "StuckError", "simulated"]


class StuckError(Exception):
    """A case came to a place from which it went no further; the message says where."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Means over all cases that were played."""

    time: float
    critical: float
    cost: float
    width: int
    """How many tasks were under way at once, at most."""
    error: float
    """The standard error of the time."""


@dataclass(slots=True)
class _Done:
    """A task that was done, and all that led to it, as bits."""

    node: str
    before: int
    longest: float = 0.0


@dataclass(slots=True)
class _Case:
    net: Net
    facts: Facts
    choose: Chooser
    outgoing: dict[str, list[Flow]]
    incoming: dict[str, list[Flow]]
    closes: dict[str, str]
    """Of each or-split, its or-join."""
    clock: Clock = field(init=False)
    tokens: dict[Flow, list[int]] = field(default_factory=dict)
    """What waits before each task, by the flow it came by: all that led to it, as bits."""
    awaited: dict[str, int] = field(default_factory=dict)
    """How many tokens an or-join waits for."""
    done: list[_Done] = field(default_factory=list)
    cost: float = 0.0
    ended: bool = False

    def play(self) -> float:
        self.clock = Clock(self.facts)
        self.arrive(self.net.input, 0)
        time = self.clock.run()
        if not self.ended or any(self.tokens.values()):
            waiting = sorted({flow.target for flow, there in self.tokens.items() if there})
            raise StuckError(", ".join(f"'{node}'" for node in waiting))
        return time

    def arrive(self, condition: str, before: int) -> None:
        """Put a token into a condition: whoever takes it is chosen at once."""
        if condition == self.net.output:
            self.ended = True
            return
        flows = self.outgoing[condition]
        chances = shares([1.0 if flow.probability is None else flow.probability for flow in flows])
        self.put(flows[self.choose(chances) if len(flows) > 1 else 0], before)

    def put(self, flow: Flow, before: int) -> None:
        if flow.target in self.net.conditions:
            self.arrive(flow.target, before)
            return
        self.tokens.setdefault(flow, []).append(before)
        self.look(flow.target)

    def look(self, node: str) -> None:
        """Begin a task if its join is satisfied."""
        task, flows = self.net.tasks[node], self.incoming[node]
        there = [flow for flow in flows if self.tokens.get(flow)]
        if task.join == "and" and len(there) < len(flows):
            return
        if task.join == "or" and len(flows) > 1 and len(there) < self.awaited.get(node, 1):
            return
        taken = there[:1] if task.join == "xor" else there
        before = 0
        for flow in taken:
            before |= self.tokens[flow].pop(0)
        self.clock.do(node, lambda: self.finish(node, before))

    def finish(self, node: str, before: int) -> None:
        self.cost += self.facts.cost(node)
        self.done.append(_Done(node, before))
        after = before | 1 << (len(self.done) - 1)
        task, flows = self.net.tasks[node], self.outgoing[node]
        if task.split == "and" or len(flows) == 1:
            chosen = flows
        elif task.split == "xor":
            chances = shares([1.0 if flow.probability is None else flow.probability for flow in flows])
            chosen = [flows[self.choose(chances)]]
        else:
            chosen = self.some(flows)
            self.awaited[self.closes[node]] = len(chosen)
        for flow in chosen:
            self.put(flow, after)

    def some(self, flows: Sequence[Flow]) -> list[Flow]:
        chances = [0.5 if flow.probability is None else flow.probability for flow in flows]
        if not any(chances):
            return [next((flow for flow in flows if flow.default), flows[0])]
        while True:
            found = [flow for flow, p in zip(flows, chances, strict=True) if self.choose([p, 1 - p]) == 0]
            if found:
                return found

    def endless(self) -> EndlessError:
        """Say of a case that does not end who chose most often to go on, and how likely that was."""
        often = Counter(one.node for one in self.done)
        choosing = [
            node for node in often if self.net.tasks[node].split != "and" and len(self.outgoing[node]) > 1
        ]
        if not choosing:
            return EndlessError()
        split = max(choosing, key=lambda node: often[node])
        flows = self.outgoing[split]
        chances = shares([1.0 if flow.probability is None else flow.probability for flow in flows])
        # Back is wherever what it chooses is done again and again.
        most = often[split] / 2 / len(flows)
        back = sum(p for flow, p in zip(flows, chances, strict=True) if often[flow.target] > most)
        return EndlessError(split, back or None)

    def critical(self) -> float:
        """Give the longest chain of what depends on each other, or was decided by the other."""
        for one in self.done:
            start, bits = 0.0, one.before
            while bits:
                lowest = bits & -bits
                bits ^= lowest
                other = self.done[lowest.bit_length() - 1]
                if other.longest > start and self.waits(other.node, one.node):
                    start = other.longest
            one.longest = start + self.facts.duration(one.node)
        return max((one.longest for one in self.done), default=0.0)

    def waits(self, first: str, then: str) -> bool:
        decides = self.net.tasks[first].split != "and" and len(self.outgoing[first]) > 1
        return decides or depend(self.facts.data(Step(first)), self.facts.data(Step(then)))


def simulated(net: Net, facts: Facts, count: int, seed: int) -> Cases:
    """Play so many cases by chance; a `StuckError` says where one did not end."""
    choose = ByChance(seed)
    closes = {split: block.join for split, block in or_blocks(net).items()}
    outgoing, incoming = net.outgoing(), net.incoming()
    times: list[float] = []
    critical = cost = 0.0
    width = 0
    for _ in range(count):
        case = _Case(net, facts, choose, outgoing, incoming, closes)
        try:
            times.append(case.play())
        except EndlessError:
            raise case.endless() from None
        critical += case.critical()
        cost += case.cost
        width = max(width, case.clock.most)
    mean = sum(times) / count
    spread = sum((time - mean) ** 2 for time in times) / max(count - 1, 1)
    return Cases(mean, critical / count, cost / count, width, (spread / count) ** 0.5)
