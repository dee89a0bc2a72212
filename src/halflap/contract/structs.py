"""msgspec's types in the contract: their schemas, and their values as JSON; msgspec is loaded only where it is used."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import PlainSerializer, SerializationInfo
from typing_inspection.introspection import is_union_origin

from halflap.contract.struct_marks import StructMarks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["has_struct", "is_struct", "place_of_struct", "standing_in", "struct_schemas", "struct_to_json"]

_PLACE = "x-halflap-struct"
_NO_KEYS = {
    "TupleType",
    "VarTupleType",
    "NamedTupleType",
    "ListType",
    "SetType",
    "FrozenSetType",
    "StructType",
    "DataclassType",
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the schema of one of msgspec's types belongs, with what is said of it around that."""

    number: int

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), _PLACE: self.number}


def is_struct(kind: Any) -> bool:
    """Say whether a type is one of msgspec's."""
    return isinstance(kind, type) and any(
        base.__module__.partition(".")[0] == "msgspec" for base in kind.__mro__[1:]
    )


def has_struct(annotation: Any) -> bool:
    """Say whether an annotation is one of msgspec's types, or a list, a union … of such."""
    if is_struct(get_origin(annotation) or annotation):
        return True
    return any(has_struct(one) for one in get_args(annotation))


def struct_to_json(value: Any) -> Any:
    """Give a value of one of msgspec's types as JSON."""
    if not is_struct(type(value)):
        raise TypeError(f"a {type(value).__name__} cannot be written as JSON")
    return _builtins(value)


def _builtins(value: Any, kept: tuple[type, ...] = ()) -> Any:
    return sys.modules["msgspec"].to_builtins(value, str_keys=True, builtin_types=kept)


def _written(value: Any, info: SerializationInfo) -> Any:
    # As Python has it, a Decimal shows whether it is finite.
    return _builtins(value, () if info.mode_is_json() else (Decimal,))


def standing_in(annotation: Any, found: list[Any]) -> Any:
    """Give an annotation as pydantic can read it: msgspec writes the values of its own types, which are put into `found`.

    So lists, unions and pages are written as they are of any other type. The place of each type's schema is kept free;
    `place_of_struct` finds it.
    """
    if is_struct(get_origin(annotation) or annotation):
        found.append(annotation)
        return Annotated[Any, PlainSerializer(_written), _Place(len(found) - 1)]
    if not has_struct(annotation):
        return annotation
    origin, given = get_origin(annotation), get_args(annotation)
    if is_union_origin(origin):
        # What msgspec writes is written whatever it is: of a choice, others are asked first.
        given = tuple(sorted(given, key=_is_struct_alone))
    inner = tuple(standing_in(one, found) for one in given)
    if origin is Annotated:
        return Annotated[(inner[0], *annotation.__metadata__)]
    return Union[inner] if is_union_origin(origin) else origin[inner]  # noqa: UP007 -- of a tuple that is made while running


def _is_struct_alone(annotation: Any) -> bool:
    while hasattr(annotation, "__metadata__"):
        annotation = get_args(annotation)[0]
    return is_struct(get_origin(annotation) or annotation)


def _check_keys(info: Any, met: set[Any]) -> None:
    """Refuse maps whose keys JSON cannot hold; msgspec only fails when it writes one."""
    if isinstance(info, list | tuple):
        for one in info:
            _check_keys(one, met)
        return
    if type(info).__module__.partition(".")[0] != "msgspec" or getattr(info, "cls", None) in met - {None}:
        return
    met.add(getattr(info, "cls", None))
    key = getattr(info, "key_type", None)
    if key is not None and type(key).__name__ in _NO_KEYS:
        kind = type(key).__name__.removesuffix("Type").lower()
        raise TypeError(f"It has a map whose keys are of the kind {kind}, and JSON has only texts for keys.")
    for name in getattr(info, "__struct_fields__", ()):
        _check_keys(getattr(info, name), met)


def place_of_struct(schema: dict[str, Any]) -> int | None:
    """Take the mark of a free place out of a schema: which of the types that were found belongs there."""
    place: int | None = schema.pop(_PLACE, None)
    return place


def struct_schemas(
    kinds: Sequence[Any], taken: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Give the JSON Schemas of msgspec's types, and what they refer to, under names that are not taken."""
    from msgspec.inspect import multi_type_info  # noqa: PLC0415 -- whoever has such a type has msgspec
    from msgspec.json import schema_components  # noqa: PLC0415 -- as above

    for kind in multi_type_info(kinds):
        _check_keys(kind, set())
    schemas, found = schema_components(kinds, ref_template="#/$defs/{name}")
    prefix = ""
    if set(found) & set(taken):
        prefix = "msgspec."
        schemas, found = schema_components(kinds, ref_template=f"#/$defs/{prefix}{{name}}")
    defined = {f"{prefix}{name}": schema for name, schema in found.items()}
    marks = StructMarks(defined, prefix)
    for kind, schema in zip(kinds, schemas, strict=True):
        marks.put(kind, schema)
    return list(schemas), defined
