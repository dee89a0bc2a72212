"""What values look like: the types that a schema is read as."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

__all__ = ["ANY", "CUT", "NEVER", "PLAIN", "Bounds", "Field", "Kind", "Type"]

Kind = Literal[
    "string",
    "number",
    "integer",
    "boolean",
    "null",
    "object",
    "array",
    "any",
    "never",
    "values",
    "union",
    "again",
    "cut",
]
"""`never` is what no value fits, `values` an enum or const, `again` a type that contains itself, `cut` what was not read any further."""

PLAIN: dict[str, Kind] = {
    "string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "null": "null",
    "object": "object", "array": "array",
}  # fmt: skip


class Bounds(NamedTuple):
    """What a schema says of the size and the letters of a text, or of the size of an array."""

    shortest: int = 0
    longest: int | None = None
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Type:
    """What values look like."""

    kind: Kind
    fields: tuple[Field, ...] = ()
    extra: Type | None = None
    """The type of the values of any other key, where that says something."""
    closed: bool = False
    """No other keys may be there."""
    needed: tuple[str, ...] = ()
    """Keys that have to be there, and of which this part of the schema says no more."""
    items: Type | None = None
    members: tuple[Type, ...] = ()
    values: tuple[Any, ...] = field(default=(), compare=False)
    format: str | None = None
    description: str = ""
    bounds: Bounds | None = field(default=None, compare=False, repr=False)
    """Only for a text or an array, and only where the schema says it."""
    names: str = ""
    """What a type that contains itself is, in a word: `object`, `array`."""
    relations: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """What a server says that the value is of: `("produces", "customer")`."""
    mark: int = field(default=0, compare=False, repr=False)
    """The same number for a type that contains itself and for where it does so; else 0."""
    spelled: tuple[tuple[str, Any], ...] = field(init=False, repr=False)
    """The values, so that they can be compared: to Python, 1 is True, and a list has no hash."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spelled", tuple(map(_spelled, self.values)))


@dataclass(frozen=True, slots=True)
class Field:
    """One key of an object."""

    name: str
    type: Type
    required: bool
    description: str = ""
    default: Any = field(default=None, compare=False)
    has_default: bool = False
    when: str = ""
    """On what it depends whether this key may or has to be there, where objects of several kinds are joined."""


def _spelled(value: Any) -> tuple[str, Any]:
    # An object or array is the same as itself alone: to compare two may take as long as they are large.
    plain = value is None or isinstance(value, str | int | float)
    return type(value).__name__, value if plain else id(value)


ANY = Type("any")
CUT = Type("cut")
NEVER = Type("never")
