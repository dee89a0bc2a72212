"""Which tools give and take what, as bitsets: one bit for each tool, one integer for each thing that a name may mean."""

from __future__ import annotations

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
        self._levels: dict[str, int] = {}
        """How common the keys are that are common at all."""
        self._count = 0
        self._sized = 0

    def add(self, node: Node) -> frozenset[str]:
        """Enter a tool; gives the keys that weigh another thing since."""
        return self._change(node, 1)

    def drop(self, node: Node) -> frozenset[str]:
        """Take a tool out again; gives the keys that weigh another thing since."""
        return self._change(node, -1)

    def _change(self, node: Node, change: int) -> frozenset[str]:
        bit = 1 << node.number
        # While its names are counted, it is one of its server's.
        self.servers[node.server] = self.servers.get(node.server, 0) | bit
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
        held = {*node.gives, *node.takes}
        before = {key: self._levels.get(key, 0) for key in held}
        self._count += change
        for key in held:
            self._hold(key, node.server, change)
        if change < 0:
            self._leave(node.server, bit)
        if self._size() != self._sized:
            self._sized = self._size()
            self._levels = {key: level for key in self._weights if (level := self._level(key))}
            return frozenset(self._weights)
        for key in held:
            level = self._level(key)
            if level:
                self._levels[key] = level
            else:
                self._levels.pop(key, None)
        return frozenset(key for key in held if self._levels.get(key, 0) != before[key])

    def _leave(self, server: str, bit: int) -> None:
        self.servers[server] ^= bit
        if not self.servers[server]:
            del self.servers[server]

    def _hold(self, key: str, server: str, change: int) -> None:
        # Of one server, many tools that share a name make it that server's word; of many servers, everybody's. In
        # whole numbers, so that what was added and taken away again leaves nothing.
        having = (self.gives.get(key, 0) | self.takes.get(key, 0)) & self.servers[server]
        now = having.bit_count()
        weight = self._weights.get(key, 0) + _root(now) - _root(now - change)
        if weight:
            self._weights[key] = weight
        else:
            del self._weights[key]

    def weight(self, key: str) -> float:
        """Say what a name weighs here: 1, or less where many have it."""
        return _LEVELS[self._levels.get(key, 0)]

    def _level(self, key: str) -> int:
        """Say how common a name is, in a few steps."""
        share = self._weights.get(key, 0) / (_SCALE * (self._sized + _FEW))
        level = 0
        while share > _COMMON and level < len(_LEVELS) - 1:
            share /= 2
            level += 1
        return level

    def _size(self) -> int:
        # In steps: a tool more or less does not change what all names weigh.
        return 1 << max(0, self._count - 1).bit_length() if self._count else 0


def bits(bitset: int) -> Iterator[int]:
    """Give the numbers of the tools in a bitset."""
    while bitset:
        low = bitset & -bitset
        yield low.bit_length() - 1
        bitset ^= low


def _root(count: int) -> int:
    return isqrt(count * _SCALE * _SCALE)
