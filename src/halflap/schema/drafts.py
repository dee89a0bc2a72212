"""Which draft of JSON Schema a schema is written in: most servers do not say, and some say another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Draft", "attempts", "is_old"]

Draft = type[jsonschema_rs.Draft7Validator] | type[jsonschema_rs.Draft4Validator]

_MOST_PARTS = 20_000
_DATA = frozenset({"enum", "const", "default", "examples"})
_KNOWN = "json-schema.org/"


def attempts(schema: Mapping[str, Any]) -> Iterator[Draft | None]:
    """Give the drafts to compile a schema as, in order; None is the one that it says, or else 2020-12.

    A list under `items` is refused by 2020-12 and means a tuple before it; `exclusiveMinimum: true` is of
    draft-04. A schema that says to be of a kind that nobody knows is not taken for any other.
    """
    yield None
    said = schema.get("$schema")
    if said is None or (isinstance(said, str) and _KNOWN in said):
        yield jsonschema_rs.Draft7Validator
        yield jsonschema_rs.Draft4Validator


def is_old(schema: Any) -> bool:
    """Say whether a schema is read as of draft-07 or before, where nothing counts beside `$ref`."""
    said = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(said, str) and ("draft-0" in said or "2019-09" in said):
        return "draft-0" in said
    rest: list[Any] = [schema]
    for _ in range(_MOST_PARTS):
        if not rest:
            break
        part = rest.pop()
        if isinstance(part, dict):
            if isinstance(part.get("items"), list):
                return True
            rest += [inner for key, inner in part.items() if key not in _DATA]
        elif isinstance(part, list):
            rest += part
    return False
