"""What always holds of a tool's data, beyond their types: said by the author, looked at before an answer leaves."""

from __future__ import annotations

import functools
import inspect
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from halflap.contract.reach import Reach

__all__ = ["Breach", "Invariant", "breach_of", "invariant", "path_text", "placed"]

_STEP = re.compile(r"(?P<key>[^.\[\]]+)|(?P<each>\[\])")
_PATH = re.compile(r"(?:[^.\[\]]+|\[\])(?:\.[^.\[\]]+|\[\])*")
_LONGEST_PATH = 200
_LATER = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
_SURE = {bool}
_NESTS = (dict, list)


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
    """The keys on the way, with `[]` for every item of a list and `*` for every value of a map."""


def invariant(path: str, holds: Callable[[Any], bool], says: str = "") -> Invariant:
    """Say that something holds: `invariant("customers[].customer_id", lambda value: value != "", "is not empty")`.

    The path is one into the data as they are sent: `[]` is every item of a list, `*` every value of a map, and `$` all of
    them, for what holds between fields. Where it leads nowhere, because a list is empty or an optional key is missing,
    there is nothing to hold; a null is a value, and the rule gets it. A path that no data of the tool's type can have is
    refused when the tool is defined.
    """
    if path != "$" and not _PATH.fullmatch(path):
        raise ValueError(
            f"An invariant's path is written like customers[].total_revenue, or $ for all of the data; not {path!r}."
        )
    if not callable(holds):
        raise TypeError(f"An invariant takes a function of the value, not {holds!r}.")
    if any(is_kind(one) for one in (holds, _called(holds)) for is_kind in _LATER):
        raise TypeError(
            f"The rule of the invariant of {path!r} is async or a generator, and what that gives is always true: give a "
            "function that says at once whether it holds."
        )
    steps = tuple(one["key"] or "[]" for one in _STEP.finditer(path))
    if steps[0] == "$":
        steps = steps[1:]
    return Invariant(path, holds, says or f"the invariant of {path}", steps)


def placed(rule: Invariant, reach: Reach, tool: str) -> Invariant:
    """Give a rule whose path leads somewhere in the data of a tool; `data`, as paths in answers have it, may come first."""
    steps = rule.steps
    if reach.has(steps):
        return rule
    if steps[0] == "data":
        steps = steps[1:]
        if reach.has(steps):
            return replace(rule, steps=steps)
    raise ValueError(
        f"The tool {tool} has an invariant of {rule.path!r} that could never be broken: {reach.problem(steps)}"
    )


def breach_of(data: Any, invariants: Sequence[Invariant]) -> Breach | None:
    """Give the first place at which an invariant does not hold, if there is one."""
    for one in invariants:
        try:
            said = [one.holds(_own(value)) for value in _values(data, one.steps)]
            if all(said) and (set(map(type, said)) <= _SURE or not _awaited(said)):
                continue
        except Exception:  # noqa: BLE001, S110 -- which value it was is looked for now
            pass
        return _where(data, one)
    return None


def _own(value: Any) -> Any:
    """Give a rule what it may do anything to: what is sent is what was looked at."""
    if isinstance(value, dict):
        return {key: _own(inner) if isinstance(inner, _NESTS) else inner for key, inner in value.items()}
    if isinstance(value, list):
        return [_own(inner) if isinstance(inner, _NESTS) else inner for inner in value]
    return value


def _called(holds: Any) -> Any:
    """Give the function behind a partial or an object that can be called."""
    while isinstance(holds, functools.partial):
        holds = holds.func
    return holds if inspect.isroutine(holds) or inspect.isclass(holds) else type(holds).__call__


def _awaited(said: list[Any]) -> bool:
    """Say whether any of what a rule gave is still to come; it is not waited for."""
    for one in said:
        if inspect.iscoroutine(one):
            one.close()
    return any(map(inspect.isawaitable, said))


def _values(data: Any, steps: tuple[str, ...]) -> list[Any]:
    """Give all values at a path, as fast as can be: nearly always they are as they should be."""
    found = [data]
    for step in steps:
        if step == "[]":
            found = [item for one in found if isinstance(one, list) for item in one]
        elif step == "*":
            found = [item for one in found if isinstance(one, dict) for item in one.values()]
        else:
            found = [one[step] for one in found if isinstance(one, dict) and step in one]
    return found


def _where(data: Any, rule: Invariant) -> Breach:
    for path, value in _placed(data, rule.steps, ()):
        try:
            holds: object = rule.holds(_own(value))
            if inspect.isawaitable(holds):
                _awaited([holds])
                return Breach(
                    path_text(("data", *path)), f"{rule.says}: what the rule gives has to be awaited"
                )
            if not holds:
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
    elif isinstance(value, dict):
        for key in value if steps[0] == "*" else {steps[0]} & value.keys():
            yield from _placed(value[key], steps[1:], (*before, key))


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
