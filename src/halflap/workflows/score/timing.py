"""How long a block takes and what it costs, on average.

A choice goes by the probabilities of its flows, a loop is left with that of the flow out of it. In parallel the mean of the longest counts, not the
longest mean. Branches that share a resource are not independent: their block is simulated by itself, or only estimated where that has to be quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.workflows.model.block import Branches, Loop, Sequence, Step, inner
from halflap.workflows.model.build import build
from halflap.workflows.model.reduce import whole
from halflap.workflows.score.critical import or_chances, way_back
from halflap.workflows.score.durations import Durations, certain, longest, mixed, repeated, shares
from halflap.workflows.score.simulate import simulate

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block
    from halflap.workflows.score.facts import Facts

__all__ = ["SAMPLES", "Timing"]

_FEW_CASES, _MANY_CASES = 4, 64
"""Up to so many cases of a block that shares resources are all played."""
SAMPLES = 200


class Timing:
    """Times of blocks; each is computed once."""

    def __init__(self, facts: Facts, *, quick: bool = False) -> None:
        """Begin; a `quick` one samples nothing, but estimates."""
        self.facts = facts
        self.quick = quick
        self._durations: dict[Block, Durations] = {}
        self._estimate: dict[Block, float] = {}
        self._load: dict[Block, dict[str, float]] = {}
        self._cost: dict[Block, float] = {}
        self._width: dict[Block, int] = {}
        self._shared: dict[Block, bool] = {}

    def mean(self, block: Block) -> tuple[float, bool]:
        """Return the mean duration and whether it is exact; raises `EndlessError` for a loop that is never left."""
        if isinstance(block, Sequence):
            found = [self.mean(part) for part in block.parts]
            return sum(time for time, _ in found), all(exact for _, exact in found)
        if isinstance(block, Loop) or (isinstance(block, Branches) and block.kind == "xor"):
            parts = [(times, *self.mean(part)) for part, times in self._counts(block) if times]
            return sum(times * time for times, time, _ in parts), all(exact for *_, exact in parts)
        times = self.durations(block)
        return times.mean, times.exact

    def durations(self, block: Block) -> Durations:
        found = self._durations.get(block)
        if found is None:
            found = self._durations[block] = self._found(block)
        return found

    def _found(self, block: Block) -> Durations:
        match block:
            case Step():
                return certain(self.facts.duration(block.node))
            case Sequence(parts):
                found = certain(0.0)
                for part in parts:
                    found += self.durations(part)
                return found
            case Loop():
                return repeated(
                    self.durations(block.body), self.durations(block.again.block), way_back(block)
                )
            case Branches():
                inside = [self.durations(way.block) for way in block.ways]
                if block.kind == "xor":
                    return mixed(zip(shares([way.weight for way in block.ways]), inside, strict=True))
                if self._share_a_resource(block):
                    return self._simulated(block)
                done = [1.0] * len(inside) if block.kind == "and" else or_chances(block)
                return longest([(p, one) for p, one in zip(done, inside, strict=True) if p])

    def _simulated(self, block: Block) -> Durations:
        net = build(self.facts.net, whole(self.facts.net, block))
        most, samples = (_FEW_CASES, 0) if self.quick else (_MANY_CASES, SAMPLES)
        played = simulate(net, self.facts, exhaustive=most, samples=samples)
        return (
            Durations(certain(self.estimate(block)).points, exact=False)
            if played is None
            else played.durations
        )

    def estimate(self, block: Block) -> float:
        """Estimate the mean duration: in parallel the longest mean, or what one resource has to do."""
        found = self._estimate.get(block)
        if found is None:
            if isinstance(block, Step):
                found = self.facts.duration(block.node)
            elif isinstance(block, Branches) and block.kind != "xor":
                means = [self.estimate(way.block) for way in block.ways]
                done = [1.0] * len(means) if block.kind == "and" else or_chances(block)
                expected = longest(
                    [(p, certain(time)) for p, time in zip(done, means, strict=True) if p]
                ).mean
                found = max(expected, *self.load(block).values(), 0.0)
            else:
                found = sum(times * self.estimate(part) for part, times in self._counts(block))
            self._estimate[block] = found
        return found

    def load(self, block: Block) -> dict[str, float]:
        """Return how long each resource works on a block, on average."""
        found = self._load.get(block)
        if found is None:
            found = {}
            for part, times in self._counts(block):
                for resource, time in self.load(part).items():
                    found[resource] = found.get(resource, 0.0) + times * time
            if isinstance(block, Step) and (own := self.facts.resource(block.node)) is not None:
                found = {own: self.facts.duration(block.node)}
            self._load[block] = found
        return found

    def cost(self, block: Block) -> float:
        """Return the mean cost; an undeclared cost is 0."""
        found = self._cost.get(block)
        if found is None:
            own = self.facts.cost(block.node) if isinstance(block, Step) else 0.0
            found = self._cost[block] = own + sum(
                times * self.cost(part) for part, times in self._counts(block)
            )
        return found

    def width(self, block: Block) -> int:
        """Return how many tasks can be under way at once."""
        found = self._width.get(block)
        if found is None:
            if isinstance(block, Step):
                found = 0 if self.facts.routes(block.node) else 1
            else:
                widths = [self.width(part) for part in inner(block)]
                parallel = isinstance(block, Branches) and block.kind != "xor"
                found = sum(widths) if parallel else max(widths, default=0)
            self._width[block] = found
        return found

    def shares_resources(self, block: Block) -> bool:
        """Return whether branches anywhere in a block share a resource."""
        found = self._shared.get(block)
        if found is None:
            found = self._shared[block] = (
                isinstance(block, Branches) and self._share_a_resource(block)
            ) or any(self.shares_resources(part) for part in inner(block))
        return found

    def _share_a_resource(self, block: Branches) -> bool:
        seen: set[str] = set()
        for way in block.ways if block.kind != "xor" else ():
            needs = {one for node in self.facts.steps(way.block) if (one := self.facts.resource(node))}
            if not seen.isdisjoint(needs):
                return True
            seen |= needs
        return False

    @staticmethod
    def _counts(block: Block) -> list[tuple[Block, float]]:
        """Return the parts of a block and how often each is done, on average."""
        match block:
            case Step():
                return []
            case Sequence(parts):
                return [(part, 1.0) for part in parts]
            case Loop():
                back = way_back(block)
                return [(block.body, 1 / (1 - back)), (block.again.block, back / (1 - back))]
            case Branches():
                if block.kind == "xor":
                    chances = shares([way.weight for way in block.ways])
                elif block.kind == "and":
                    chances = [1.0] * len(block.ways)
                else:
                    chances = or_chances(block)
                    none = 1.0
                    for p in chances:
                        none *= 1 - p
                    chances = [p / (1 - none) for p in chances]
                return [(way.block, p) for way, p in zip(block.ways, chances, strict=True)]
