"""Say for ty what a program's own functions take and return: what it has found out of the values there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.sandbox.check.typetext import is_awaitable, members

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from halflap.sandbox.check.seen import Place, Slot

__all__ = ["OWN_NAMES", "written_types"]

OWN_NAMES = """\
from collections.abc import AsyncIterator, Coroutine
from typing import TypeVar
Halflap_T = TypeVar("Halflap_T")
class Halflap_AsyncIterator(AsyncIterator[Halflap_T]): ...
class Halflap_Coroutine(Coroutine[Any, Any, Halflap_T]): ...
Halflap_Any: TypeAlias = Any
"""
"""What the types are written with, for the stubs; ty hides an alias there that begins with an underscore."""

_NAME = re.compile(r"[^\W\d][\w.]*")
_LITERAL = re.compile(r"""Literal\[(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\]"'])*\]""")
_PLAIN = frozenset(
    {"list", "dict", "tuple", "set", "frozenset", "str", "int", "float", "bool", "bytes", "object", "None"}
)
_FORMS = {"returns": ' -> "{}"', "yields": ' -> "Halflap_AsyncIterator[{}]"', "takes": ': "{}"'}
_LONGEST = 2_000


def written_types(
    slots: Iterable[Slot], types: Mapping[Place, str], records: Collection[str]
) -> dict[Place, str]:
    """Give what to write at each place whose values have to do with what tools give."""
    found = {}
    for slot in slots:
        kinds = [types.get(value, "Unknown") for value in slot.values]
        written = " | ".join(dict.fromkeys(_written(kind, records) for kind in kinds))
        names = set(_NAME.findall(written))
        if len(written) <= _LONGEST and names & ({*records} | {"Halflap_Coroutine"}):
            found[slot.at] = _FORMS[slot.form].format(written)
    return found


def _written(kind: str, records: Collection[str]) -> str:
    """Write a type of ty's as an annotation; what has no name that can be written is anything."""
    parts = []
    for member in members(kind):
        if is_awaitable(member):
            parts.append("Halflap_Coroutine[Halflap_Any]")
            continue
        plain = _LITERAL.sub(_kind_of_literal, member)
        names = _NAME.findall(plain)
        known = all(name in _PLAIN or name in records or name == "Unknown" for name in names)
        is_simple = known and not set(plain) - set("[], |.") - set("".join(names))
        parts.append(re.sub(r"\bUnknown\b", "Halflap_Any", plain) if is_simple else "Halflap_Any")
    return " | ".join(dict.fromkeys(parts))


def _kind_of_literal(found: re.Match[str]) -> str:
    inner = found.group()[len("Literal[") :]
    if inner[:1] in {'"', "'"}:
        return "str"
    return "bool" if inner.startswith(("True", "False")) else "int"
