"""Say for ty what the async functions of a program return: what it has found out of the values that they return."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.execution.check.typetext import is_awaitable, members

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from halflap.execution.check.seen import Place, Returning

__all__ = ["OWN_NAMES", "return_types"]

OWN_NAMES = """\
from collections.abc import AsyncIterator, Coroutine
_AsyncIterator: TypeAlias = AsyncIterator
_Coroutine: TypeAlias = Coroutine
_Any: TypeAlias = Any
"""
"""What the types are written with, for the stubs: a program has no such names."""

_NAME = re.compile(r"[^\W\d][\w.]*")
_LITERAL = re.compile(r"""Literal\[(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\]"'])*\]""")
_PLAIN = frozenset(
    {"list", "dict", "tuple", "set", "frozenset", "str", "int", "float", "bool", "bytes", "object", "None"}
)
_LONGEST = 2_000


def return_types(
    returning: Sequence[Returning], types: Mapping[Place, str], records: Collection[str]
) -> dict[Place, str]:
    """Give what to write at the colon of each function whose values say something."""
    found = {}
    for one in returning:
        kinds = [types.get(value, "Unknown") for value in one.values]
        written = " | ".join(dict.fromkeys(_written(kind, records) for kind in kinds))
        if len(written) <= _LONGEST and any(name in records for name in _NAME.findall(written)):
            found[one.colon] = f' -> "{f"_AsyncIterator[{written}]" if one.yields else written}"'
    return found


def _written(kind: str, records: Collection[str]) -> str:
    """Write a type of ty's as an annotation; what has no name that can be written is anything."""
    parts = []
    for member in members(kind):
        if is_awaitable(member):
            parts.append("_Coroutine[_Any, _Any, _Any]")
            continue
        plain = _LITERAL.sub(_kind_of_literal, member)
        names = _NAME.findall(plain)
        known = all(name in _PLAIN or name in records or name == "Unknown" for name in names)
        is_simple = known and not set(plain) - set("[], |.") - set("".join(names))
        parts.append(re.sub(r"\bUnknown\b", "_Any", plain) if is_simple else "_Any")
    return " | ".join(dict.fromkeys(parts))


def _kind_of_literal(found: re.Match[str]) -> str:
    inner = found.group()[len("Literal[") :]
    if inner[:1] in {'"', "'"}:
        return "str"
    return "bool" if inner.startswith(("True", "False")) else "int"
