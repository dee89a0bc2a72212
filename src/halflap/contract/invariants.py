"""What always holds of a tool's data, beyond their types: said by the author, looked at before an answer leaves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Breach", "Invariant", "breach_of", "invariant", "path_text"]

_STEP = re.compile(r"(?P<key>[^.\[\]]+)|(?P<each>\[\])")
_PATH = re.compile(r"(?:[^.\[\]]+|\[\])(?:\.[^.\[\]]+|\[\])*")
_LONGEST_PATH = 200


class Breach(NamedTuple):
    """Where an answer breaks its contract."""

    path: str
    reason: str
    """For the log alone."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A rule for every value at a path of the data."""

    path: str
    holds: Callable[[Any], bool]
    says: str
    steps: tuple[str, ...]
    """The keys on the way, with `[]` for every item."""


def invariant(path: str, holds: Callable[[Any], bool], says: str = "") -> Invariant:
    """Say that something holds: `invariant("customers[].customer_id", lambda value: value != "", "is not empty")`.

    The path is one into the data as they are sent; `$` is all of them, for what holds between fields. Where it leads
    nowhere, because a list is empty or an optional key is missing or null, there is nothing to hold.
    """
    if path != "$" and not _PATH.fullmatch(path):
        raise ValueError(
            f"An invariant's path is written like customers[].total_revenue, or $ for all of the data; not {path!r}."
        )
    if not callable(holds):
        raise TypeError(f"An invariant takes a function of the value, not {holds!r}.")
    steps = () if path == "$" else tuple(one["key"] or "[]" for one in _STEP.finditer(path))
    return Invariant(path, holds, says or f"the invariant of {path}", steps)


def breach_of(data: Any, invariants: Sequence[Invariant]) -> Breach | None:
    """Give the first place at which an invariant does not hold, if there is one."""
    for one in invariants:
        try:
            if all(map(one.holds, _values(data, one.steps))):
                continue
        except Exception:  # noqa: BLE001, S110 -- which value it was is looked for now
            pass
        return _where(data, one)
    return None


def _values(data: Any, steps: tuple[str, ...]) -> list[Any]:
    """Give all values at a path, as fast as can be: nearly always they are as they should be."""
    found = [data]
    for step in steps:
        if step == "[]":
            found = [item for one in found if isinstance(one, list) for item in one]
        else:
            inner = [one.get(step) for one in found if isinstance(one, dict)]
            found = [one for one in inner if one is not None]
    return found


def _where(data: Any, rule: Invariant) -> Breach:
    for path, value in _placed(data, rule.steps, ()):
        try:
            if not rule.holds(value):
                return Breach(path_text(("data", *path)), f"{rule.says}: it is {value!r}")
        except Exception as error:  # noqa: BLE001 -- the author's rule: that it fails says that it does not hold
            told = f"{rule.says}: the rule raised {type(error).__name__}: {error}"
            return Breach(path_text(("data", *path)), told)
    return Breach("data", f"{rule.says}: it did not hold, and then it did")


def _placed(
    value: Any, steps: tuple[str, ...], before: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if not steps:
        yield before, value
    elif steps[0] == "[]":
        for at, item in enumerate(value if isinstance(value, list) else ()):
            yield from _placed(item, steps[1:], (*before, at))
    elif isinstance(value, dict) and value.get(steps[0]) is not None:
        yield from _placed(value[steps[0]], steps[1:], (*before, steps[0]))


def path_text(path: Sequence[str | int]) -> str:
    """Write a path as a program would: `data.customers[3].total_revenue`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text if len(text) <= _LONGEST_PATH else text[: _LONGEST_PATH - 1] + "…"
