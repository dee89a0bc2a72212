"""Where everything in a picture stands: in layers, labels in layers of their own, so that nothing covers anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Laid", "Size", "Spot", "lay_out", "places_of"]

Size = tuple[float, float]
"""A width and a height."""
_Node = tuple[str, int, int]
"""A box: its name and twice 0. A place on an arrow's way: nothing, the arrow's number, the layer."""

_SWEEPS = 12
_ACROSS = 22.0
_APART = 16.0
_NARROW = 7.0


@dataclass(frozen=True, slots=True)
class Spot:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """How far down its middle is."""
        return self.y + self.height / 2


@dataclass
class Laid:
    """A picture laid out: the boxes, and of each arrow the label's spot and the spots that it goes through."""

    boxes: dict[str, Spot]
    labels: list[Spot | None] = field(default_factory=list)
    ways: list[list[Spot]] = field(default_factory=list)
    """From the source on; none for an arrow from a box to itself."""


def places_of(boxes: Mapping[str, Size], arrows: Sequence[tuple[str, str, Size]]) -> int:
    """Count what would have to be placed: the boxes, and every arrow once in each layer that it crosses."""
    back = _back(boxes, arrows)
    ends = [(two, one) if at in back else (one, two) for at, (one, two, _) in enumerate(arrows)]
    depth = _depth(boxes, [pair for pair in ends if pair[0] != pair[1]])
    return len(boxes) + sum(max(0, 2 * (depth[two] - depth[one]) - 1) for one, two in ends)


def lay_out(boxes: Mapping[str, Size], arrows: Sequence[tuple[str, str, Size]]) -> Laid:
    """Lay out boxes, and arrows with the sizes of their labels; what feeds stands left of what it feeds."""
    back = _back(boxes, arrows)
    ends = [(two, one) if at in back else (one, two) for at, (one, two, _) in enumerate(arrows)]
    depth = _depth(boxes, [pair for pair in ends if pair[0] != pair[1]])
    sizes: dict[_Node, Size] = {(name, 0, 0): size for name, size in boxes.items()}
    layers: list[list[_Node]] = [[] for _ in range(2 * max(depth.values(), default=0) + 1)]
    for name in boxes:
        layers[2 * depth[name]].append((name, 0, 0))
    chains: list[list[_Node]] = []
    for at, (one, two) in enumerate(ends):
        between: list[_Node] = [("", at, layer) for layer in range(2 * depth[one] + 1, 2 * depth[two])]
        for node in between:
            # The label stands next to the box that the arrow is from.
            labelled = node is (between[-1] if at in back else between[0])
            sizes[node] = arrows[at][2] if labelled else (0.0, _NARROW)
            layers[node[2]].append(node)
        chains.append([(one, 0, 0), *between, (two, 0, 0)] if one != two else [])
    _order(layers, chains)
    spots = _place(layers, chains, sizes)
    laid = Laid({name: spots[name, 0, 0] for name in boxes})
    for at, chain in enumerate(chains):
        inner = [spots[node] for node in chain[1:-1]]
        way = [spots[node] for node in chain]
        laid.ways.append(way[::-1] if at in back else way)
        laid.labels.append((inner[-1] if at in back else inner[0]) if inner else None)
    return laid


def _back(boxes: Mapping[str, Size], arrows: Sequence[tuple[str, str, Size]]) -> set[int]:
    """Find the arrows that close a cycle, by going depth first, without recursion."""
    out: dict[str, list[int]] = {name: [] for name in boxes}
    for at, (source, _, _) in enumerate(arrows):
        out[source].append(at)
    state: dict[str, int] = {}
    back: set[int] = set()
    # What nothing leads to comes first: there is where things begin.
    targets = {target for source, target, _ in arrows if source != target}
    for name in sorted(boxes, key=lambda one: one in targets):
        if name in state:
            continue
        state[name] = 1
        stack = [(name, iter(out[name]))]
        while stack:
            here, following = stack[-1]
            number = next(following, -1)
            if number < 0:
                state[here] = 2
                stack.pop()
                continue
            target = arrows[number][1]
            if target not in state:
                state[target] = 1
                stack.append((target, iter(out[target])))
            elif state[target] == 1 and target != here:
                back.add(number)
    return back


def _depth(boxes: Mapping[str, Size], pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Give each box a layer after all that it comes from; what nothing leads to stands right before what it feeds."""
    into: dict[str, list[str]] = {name: [] for name in boxes}
    out: dict[str, list[str]] = {name: [] for name in boxes}
    for source, target in pairs:
        into[target].append(source)
        out[source].append(target)
    depth: dict[str, int] = {}
    left = {name: len(into[name]) for name in boxes}
    ready = [name for name in boxes if not left[name]]
    for name in ready:
        depth[name] = max((depth[source] + 1 for source in into[name]), default=0)
        for target in out[name]:
            left[target] -= 1
            if not left[target]:
                ready.append(target)
    for name in boxes:
        if out[name] and not into[name]:
            depth[name] = min(depth[target] for target in out[name]) - 1
    return depth


def _order(layers: Sequence[list[_Node]], chains: Sequence[Sequence[_Node]]) -> None:
    """Put into each layer's order what belongs to its neighbours: each at the mean of those before, then of those after."""
    before: dict[_Node, list[_Node]] = {}
    after: dict[_Node, list[_Node]] = {}
    for chain in chains:
        for one, two in pairwise(chain):
            before.setdefault(two, []).append(one)
            after.setdefault(one, []).append(two)
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        beside = before if forth else after
        place = {node: at / max(1, len(layer)) for layer in layers for at, node in enumerate(layer)}
        for layer in layers if forth else reversed(layers):
            means = {
                node: sum(place[one] for one in beside[node]) / len(beside[node])
                if node in beside
                else place[node]
                for node in layer
            }
            layer.sort(key=means.__getitem__)
            place |= {node: at / max(1, len(layer)) for at, node in enumerate(layer)}


def _place(
    layers: Sequence[Sequence[_Node]], chains: Sequence[Sequence[_Node]], sizes: Mapping[_Node, Size]
) -> dict[_Node, Spot]:
    """Give everything its spot: in the layer's order, apart from each other, as level with its neighbours as can be."""
    beside: dict[_Node, list[_Node]] = {}
    for chain in chains:
        for one, two in pairwise(chain):
            beside.setdefault(one, []).append(two)
            beside.setdefault(two, []).append(one)
    middle = {node: 0.0 for layer in layers for node in layer}
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [
                sum(middle[one] for one in beside[node]) / len(beside[node])
                if node in beside
                else middle[node]
                for node in layer
            ]
            middle.update(zip(layer, _apart(wanted, [sizes[node][1] for node in layer]), strict=True))
    top = min((middle[node] - sizes[node][1] / 2 for node in middle), default=0.0)
    spots: dict[_Node, Spot] = {}
    x = _ACROSS
    for layer in layers:
        widest = max((sizes[node][0] for node in layer), default=0.0)
        for node in layer:
            width, height = sizes[node]
            # What an arrow goes through is as wide as its layer: so the arrow is level where boxes stand.
            left, wide = (x, widest) if not node[0] else (x + (widest - width) / 2, width)
            spots[node] = Spot(left, middle[node] - height / 2 - top + _ACROSS, wide, height)
        x += widest + 2 * _ACROSS
    return spots


def _apart(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Put things as near as can be to where each wants to be, in their order and apart: the least squares that do."""
    offsets = [0.0]
    for one, two in pairwise(heights):
        offsets.append(offsets[-1] + (one + two) / 2 + _APART)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=False):
        sum_, count = want - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= sum_ / count:
            earlier = blocks.pop()
            sum_, count = sum_ + earlier[0], count + earlier[1]
        blocks.append((sum_, count))
    means = [sum_ / count for sum_, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]
