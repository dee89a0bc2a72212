"""Which tools give and take what, as bitsets: one bit for each tool, one integer for each thing that a name may mean."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.node import Node

__all__ = ["Index", "bits"]

_FEW = 400
"""So many tools are added before shares are taken: of a dozen, three that share a name are not many."""
_SCALE = 1000
_COMMON = 0.02
"""Names that more than this share of tools have weigh less."""
_LEVELS = (1.0, 0.85, 0.7, 0.5, 0.3, 0.15)
"""What a name weighs that is twice as common as that, four times, …"""


class Index:
    """The tools that give and that take each key; and how common each key is."""

    def __init__(self) -> None:
        self.gives: dict[str, int] = {}
        self.takes: dict[str, int] = {}
        self.tells: dict[str, int] = {}
        """The tools whose descriptions have a word, within their server."""
        self.servers: dict[str, int] = {}
        """The tools of each server."""
        self._weights: dict[str, int] = {}
        self._count = 0
        self._sized = 0
        self._few = 0

    def change(self, old: Node | None, new: Node | None) -> frozenset[str] | None:
        """Take a tool out, enter one, or both at once.

        Gives the keys that weigh another thing since; None if all may, since there are many more tools, or many fewer.
        """
        held = {key for node in (old, new) if node is not None for key in (*node.gives, *node.takes)}
        before = {key: level for key in held if (level := self._level(key))}
        if old is not None:
            self._enter(old, -1)
        if new is not None:
            self._enter(new, 1)
        # In steps: a tool more or less does not change what all names weigh.
        size = 1 << (self._count - 1).bit_length() if self._count else 0
        if size != self._sized:
            self._sized = size
            self._few = int(_COMMON * _SCALE * (size + _FEW))
            return None
        return frozenset(key for key in held if self._level(key) != before.get(key, 0))

    def _enter(self, node: Node, change: int) -> None:
        bit = 1 << node.number
        # While its names are counted, it is one of its server's.
        ours = self.servers.get(node.server, 0) | bit
        for bitsets, keys in (
            (self.gives, node.keys_given()),
            (self.takes, node.keys_taken()),
            (self.tells, node.keys_told()),
        ):
            for key in keys:
                bitset = bitsets.get(key, 0) ^ bit
                if bitset:
                    bitsets[key] = bitset
                else:
                    del bitsets[key]
        for key in node.gives.keys() | node.takes.keys():
            self._hold(key, ours, change)
        self._count += change
        if change < 0:
            ours ^= bit
        if ours:
            self.servers[node.server] = ours
        else:
            del self.servers[node.server]

    def _hold(self, key: str, ours: int, change: int) -> None:
        # Of one server, many tools that share a name make it that server's word; of many servers, everybody's. In
        # whole numbers, so that what was added and taken away again leaves nothing.
        now = ((self.gives.get(key, 0) | self.takes.get(key, 0)) & ours).bit_count()
        weight = self._weights.get(key, 0) + _root(now) - _root(now - change)
        if weight:
            self._weights[key] = weight
        else:
            del self._weights[key]

    def weight(self, key: str) -> float:
        """Say what a name weighs here: 1, or less where many have it."""
        return _LEVELS[self._level(key)]

    def _level(self, key: str) -> int:
        """Say how common a name is, in a few steps."""
        weight = self._weights.get(key, 0)
        if weight <= self._few:
            return 0
        level = 0
        while weight > self._few and level < len(_LEVELS) - 1:
            weight //= 2
            level += 1
        return level


def bits(bitset: int) -> Iterator[int]:
    """Give the numbers of the tools in a bitset."""
    while bitset:
        low = bitset & -bitset
        yield low.bit_length() - 1
        bitset ^= low


@lru_cache(maxsize=1 << 12)
def _root(count: int) -> int:
    return isqrt(count * _SCALE * _SCALE)
