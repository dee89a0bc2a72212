"""Whose turn it is, where more is asked for than can be done at once: everybody's in turn, and small things need not wait for large ones."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Place", "Turns", "small"]

Place = Literal["any", "small"]

_FEW_TASKS = 50
_FEW_FLOWS = 200
_FEW_AT_ONCE = 5


@dataclass(slots=True, eq=False)
class _Waiting:
    small: bool
    granted: asyncio.Future[Place] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Turns:
    """So many places, and one more that only small things may take. Those who wait are served in turn, each in the order of what it asked."""

    def __init__(self, places: int) -> None:
        self._free: dict[Place, int] = {"any": places, "small": 1}
        self._waiting: dict[str, deque[_Waiting]] = {}
        """By who asked; whose turn it is comes first."""

    async def take(self, who: str, *, small: bool) -> Place:
        """Wait for a place; whoever gets one has to give it back."""
        mine = _Waiting(small)
        self._waiting.setdefault(who, deque()).append(mine)
        self._serve()
        try:
            return await mine.granted
        except asyncio.CancelledError:
            if mine.granted.done() and not mine.granted.cancelled():
                # It came in the same moment in which nobody waited for it any more.
                self.give(mine.granted.result())
            else:
                self._leave(who, mine)
            raise

    def give(self, place: Place) -> None:
        """Give a place back."""
        self._free[place] += 1
        self._serve()

    def _serve(self) -> None:
        for place in self._free:
            while self._free[place]:
                found = next(self._who_may(place), None)
                if found is None:
                    break
                who, one = found
                self._leave(who, one)
                if who in self._waiting:
                    self._waiting[who] = self._waiting.pop(who)
                self._free[place] -= 1
                one.granted.set_result(place)

    def _who_may(self, place: Place) -> Iterator[tuple[str, _Waiting]]:
        for who, asked in self._waiting.items():
            for one in asked:
                if not one.granted.done() and (place == "any" or one.small):
                    yield who, one

    def _leave(self, who: str, one: _Waiting) -> None:
        self._waiting[who].remove(one)
        if not self._waiting[who]:
            del self._waiting[who]


def small(arguments: Mapping[str, Any]) -> bool:
    """Tell whether what is asked is quickly answered, by no more than counting: few tasks, of which few can be done at once."""
    return all(_small_workflow(value) for value in arguments.values() if isinstance(value, dict))


def _small_workflow(value: Mapping[str, Any]) -> bool:
    if "yawl" in value:
        return False
    nets = value.get("nets")
    for net in nets[:_FEW_TASKS] if isinstance(nets, list) else [value]:
        tasks, flows = (net.get(key) if isinstance(net, dict) else None for key in ("tasks", "flows"))
        if not isinstance(tasks, list) or not isinstance(flows, list):
            continue  # It is refused at once.
        if len(tasks) > _FEW_TASKS or len(flows) > _FEW_FLOWS:
            return False
        chooses = {
            str(task.get("id")) for task in tasks if isinstance(task, dict) and task.get("split") == "xor"
        }
        known = {str(task.get("id")) for task in tasks if isinstance(task, dict)}
        out = Counter(str(flow.get("from")) for flow in flows if isinstance(flow, dict))
        if 1 + sum(count - 1 for node, count in out.items() if node in known - chooses) > _FEW_AT_ONCE:
            return False
    return True
