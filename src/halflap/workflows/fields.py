"""The fields of the JSON form, read one by one: what is wrong with any is noted, and the rest is read on."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from rapidfuzz import fuzz, process

from halflap.core.errors import WorkflowError, WorkflowProblem
from halflap.workflows.predicates import parse
from halflap.workflows.source import Doubled

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CONDITION", "FLOW", "KEPT", "NET", "TASK", "Reader", "meant", "what_is"]

NET = {"$schema", "id", "label", "input", "output", "tasks", "conditions", "flows", "rules", "kept", "notes"}
TASK = {
    "id",
    "label",
    "join",
    "split",
    "duration",
    "cost",
    "reads",
    "writes",
    "resource",
    "idempotent",
    "tool",
    "arguments",
    "limit",
    "each",
}
CONDITION = {"id", "label"}
FLOW = {"from", "to", "predicate", "probability", "default", "order"}
KEPT = {"at", "name", "text"}

_LONGEST_ID = 500
_MOST = 1e15
"""The largest number that is read: beyond it sums and squares of many would no longer be numbers."""
_HALF = re.compile("[\ud800-\udfff]")


class Reader:
    """Reads values, and collects every problem."""

    def __init__(self) -> None:
        self.problems: list[WorkflowProblem] = []

    def add(self, path: str, message: str) -> None:
        """Note a problem; a path may be made of keys that nobody could print."""
        self.problems.append(WorkflowProblem(path.encode("utf-8", "backslashreplace").decode(), message))

    def object(
        self, value: Any, path: str, known: set[str], *, needed: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Read an object; keys that there are not are problems, and so are those that are missing."""
        if not isinstance(value, dict):
            self.add(path, f"Expected an object, and there is {what_is(value)}.")
            return {}
        self._told_twice(value, path)
        for key in value:
            if key not in known:
                near = process.extractOne(str(key), sorted(known), scorer=fuzz.ratio, score_cutoff=60)
                hint = (
                    f"There are: {', '.join(sorted(known))}."
                    if near is None
                    else f"Did you mean {near[0]!r}?"
                )
                self.add(_at(path, str(key)), f"There is no such key. {hint}")
        for key in needed:
            if key not in value:
                self.add(_at(path, key), "It is missing.")
        return value

    def _told_twice(self, value: dict[str, Any], path: str) -> None:
        for key, count in value.times.items() if isinstance(value, Doubled) else ():
            self.add(
                _at(path, key), f"It is there {count} times, and only one can count. Take the others out."
            )

    def _whole(self, value: str, path: str) -> bool:
        half = _HALF.search(value)
        if half is None:
            return True
        code = f"\\u{ord(half[0]):04x}"
        self.add(path, f"It has {code}, which is half of a character. Write the whole one, or take it out.")
        return False

    def _value(self, fields: dict[str, Any] | Any, key: str) -> Any:
        return fields.get(key)

    def list(self, fields: Any, key: str, path: str) -> list[Any]:
        """Read a list; none is an empty one."""
        value = self._value(fields, key)
        if value is None:
            if key in fields:
                self.add(
                    _at(path, key), "Expected a list, and there is null. Leave it out where there is none."
                )
            return []
        if isinstance(value, list):
            return value
        self.add(_at(path, key), f"Expected a list, and there is {what_is(value)}.")
        return []

    def text(
        self, fields: Any, key: str, path: str, *, null: bool = False, empty: bool = False
    ) -> str | None:
        """Read a text; an empty one is a mistake, unless it may be."""
        if key not in fields:
            return None
        value = fields[key]
        if isinstance(value, str) and (empty or not _blank(value)):
            if not empty and len(value) > _LONGEST_ID:
                self.add(_at(path, key), f"It has {len(value)} characters; at most {_LONGEST_ID} are read.")
                return None
            return value if self._whole(value, _at(path, key)) else None
        if value is None and null:
            return None
        self.add(
            _at(path, key), f"Expected a text{' or null' if null else ''}, and there is {_no_text(value)}."
        )
        return None

    def texts(self, fields: Any, key: str, path: str) -> tuple[str, ...]:
        """Read a list of texts."""
        found: list[str] = []
        for at, one in enumerate(self.list(fields, key, path)):
            where = f"{_at(path, key)}[{at}]"
            if not isinstance(one, str) or _blank(one):
                self.add(where, f"Expected a text, and there is {_no_text(one)}.")
            elif self._whole(one, where):
                found.append(one)
        return tuple(found)

    def names(self, fields: Any, key: str, path: str) -> frozenset[str] | None:
        """Read a set of names; none, or null, is not known."""
        if fields.get(key) is None:
            return None
        return frozenset(self.texts(fields, key, path))

    def number(self, fields: Any, key: str, path: str, *, most: float = _MOST) -> float | None:
        """Read a number that is not below zero, nor beyond all measure; none, or null, is not known."""
        value = self._value(fields, key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.add(_at(path, key), f"Expected a number, and there is {what_is(value)}.")
            return None
        try:
            fits = 0 <= float(value) <= most and math.isfinite(value)
        except OverflowError:
            fits = False
        if not fits:
            self.add(_at(path, key), f"Expected a number from 0 to {most:g}, and there is {_shown(value)}.")
            return None
        return value

    def whole(self, fields: Any, key: str, path: str, *, least: int | None = None) -> int | None:
        """Read a whole number; none, or null, is none."""
        value = self._value(fields, key)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            # JSON knows one kind of number: 3.0 is a whole one.
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
            found = _shown(value) if isinstance(value, int | float) else what_is(value)
            from_ = "" if least is None else f" from {least} on"
            self.add(_at(path, key), f"Expected a whole number{from_}, and there is {found}.")
            return None
        return value

    def boolean(self, fields: Any, key: str, path: str) -> bool | None:
        """Read true or false; none, or null, is not known."""
        value = self._value(fields, key)
        if value is None or isinstance(value, bool):
            return value
        self.add(_at(path, key), f"Expected true or false, and there is {what_is(value)}.")
        return None

    def mapping(self, fields: Any, key: str, path: str) -> dict[str, Any] | None:
        """Read an object of which the keys are somebody else's."""
        value = self._value(fields, key)
        if value is None or isinstance(value, dict):
            self._inside(value, _at(path, key))
            return value
        self.add(_at(path, key), f"Expected an object, and there is {what_is(value)}.")
        return None

    def items(self, fields: Any, key: str, path: str) -> Any:
        """Read a list, or `{"from": name}`, which refers to one."""
        value = self._value(fields, key)
        refers = isinstance(value, dict) and set(value) == {"from"} and isinstance(value["from"], str)
        if value is None or isinstance(value, list) or refers:
            self._inside(value, _at(path, key))
            return value
        self.add(
            _at(path, key), f'Expected a list, or {{"from": "name.key"}}, and there is {what_is(value)}.'
        )
        return None

    def _inside(self, value: Any, path: str) -> None:
        """Look at keys and texts anywhere in a value that is not ours."""
        waiting = [(value, path)]
        for one, where in waiting:
            if isinstance(one, str):
                self._whole(one, where)
            elif isinstance(one, list):
                waiting += [(inner, f"{where}[{at}]") for at, inner in enumerate(one)]
            elif isinstance(one, dict):
                self._told_twice(one, where)
                for key, inner in one.items():
                    self._whole(str(key), _at(where, str(key)))
                    waiting.append((inner, _at(where, str(key))))

    def choice(self, fields: Any, key: str, path: str, known: tuple[str, ...], preset: Any) -> Any:
        """Read one of several words."""
        if key not in fields:
            return preset
        value = fields[key]
        if isinstance(value, str) and value in known:
            return value
        found = _shown(value) if isinstance(value, str) else what_is(value)
        self.add(_at(path, key), f"Expected one of {', '.join(known)}, and there is {found}.")
        return preset

    def predicate(self, fields: Any, key: str, path: str) -> str | None:
        """Read a predicate, which has to be one of our language."""
        value = self._value(fields, key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.add(_at(path, key), f"Expected a text, and there is {what_is(value)}.")
            return None
        if not self._whole(value, _at(path, key)):
            return None
        try:
            parse(value)
        except WorkflowError as error:
            self.add(_at(path, key), error.problems[0].message)
            return None
        return value


def meant(name: str, known: Iterable[str]) -> str:
    """Ask whether one of those that there are was meant, if there is one like it."""
    near = process.extractOne(name, sorted(known), scorer=fuzz.ratio, score_cutoff=60)
    return "" if near is None else f" Did you mean {near[0]!r}?"


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"  # noqa: PLR2004 - as much as a line has


def _blank(text: str) -> bool:
    """Tell whether there is nothing to be seen of a text, by Python's spaces and by those of JSON Schema."""
    return not text.replace("\ufeff", "").strip()


def _no_text(value: Any) -> str:
    if not isinstance(value, str):
        return what_is(value)
    return "one with nothing but spaces" if value else "an empty one"


def what_is(value: Any) -> str:
    """Say what a value of JSON is, in words of JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    kinds: tuple[tuple[type, str], ...] = (
        (str, f"the text {_shown(value)}"),
        (list, "a list"),
        (dict, "an object"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), f"the number {_shown(value)}")
