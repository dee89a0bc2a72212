"""What annotations say of the fields of msgspec's types, put into their schemas: msgspec passes over what it does not know."""

from __future__ import annotations

import types
from dataclasses import is_dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

import typing_extensions
from pydantic.fields import FieldInfo
from typing_inspection.introspection import is_union_origin

from halflap.contract.relations import LintIgnore, Mark
from halflap.contract.written import DURATION, WRITTEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["StructMarks"]

_REFERENCE = "#/$defs/"
_QUALIFIERS = {"Required", "NotRequired", "ReadOnly", "Final"}


class StructMarks:
    """Goes through annotations and the schemas that msgspec made of them, side by side."""

    def __init__(self, defined: dict[str, Any], prefix: str) -> None:
        """Take what schemas refer to, and what the names of these begin with."""
        self._defined = defined
        self._prefix = prefix
        self._done: set[str] = set()

    def put(self, annotation: Any, schema: Any, given: Mapping[Any, Any] | None = None) -> None:
        """Put what an annotation says into its schema, and into all in it; `given` is what type variables stand for."""
        given = given or {}
        annotation = _plain(annotation, given)
        if not isinstance(schema, dict):
            return
        if hasattr(annotation, "__metadata__"):
            for one in annotation.__metadata__:
                if isinstance(one, Mark | LintIgnore):
                    one.put(schema)
                elif isinstance(one, FieldInfo) and one.description:
                    schema.setdefault("description", one.description)
            annotation = _plain(get_args(annotation)[0], given)
        origin, inside = get_origin(annotation), get_args(annotation)
        if annotation is timedelta and schema.get("format") == "duration":
            del schema["format"]
            schema[WRITTEN] = DURATION
        elif is_union_origin(origin):
            self._put_choice(inside, schema, given)
        elif "$ref" in schema:
            self._put_fields(origin or annotation, inside, schema["$ref"], given)
        elif inside:
            self._put_items(inside, schema, given)

    def _put_choice(self, inside: tuple[Any, ...], schema: dict[str, Any], given: Mapping[Any, Any]) -> None:
        kinds = [one for one in inside if one is not types.NoneType and not _is_unset(one)]
        branches = list(_branches(schema))
        if len(kinds) == 1:
            self.put(kinds[0], branches[0] if len(branches) == 1 else schema, given)
            return
        from msgspec.json import schema_components  # noqa: PLC0415 -- whoever has such a type has msgspec

        # Which is which is told by what each would be alone; what was merged into one is left as it is.
        template = f"{_REFERENCE}{self._prefix}{{name}}"
        for kind in kinds:
            if isinstance(_plain(kind, given), TypeVar):
                continue
            (alone,), _ = schema_components([_plain(kind, given)], ref_template=template)
            for branch in branches:
                if branch == alone:
                    self.put(kind, branch, given)
                    break

    def _put_fields(
        self, kind: Any, inside: tuple[Any, ...], reference: str, given: Mapping[Any, Any]
    ) -> None:
        names = _fields(kind)
        if reference in self._done or not names:
            return
        self._done.add(reference)
        schema = self._defined[reference.removeprefix(_REFERENCE)]
        hints = get_type_hints(kind, include_extras=True)
        stand = dict(
            zip(getattr(kind, "__parameters__", ()), (_plain(one, given) for one in inside), strict=False)
        )
        listed = schema.get("prefixItems", [])
        # A tag stands before the fields.
        for (name, sent), item in zip(names.items(), listed[len(listed) - len(names) :], strict=False):
            del sent
            self.put(hints[name], item, stand)
        for name, sent in names.items():
            self.put(hints[name], schema.get("properties", {}).get(sent), stand)

    def _put_items(self, inside: tuple[Any, ...], schema: dict[str, Any], given: Mapping[Any, Any]) -> None:
        if "prefixItems" in schema:
            for one, item in zip(inside, schema["prefixItems"], strict=False):
                self.put(one, item, given)
        elif schema.get("type") == "array":
            self.put(inside[0], schema.get("items"), given)
        elif schema.get("type") == "object":
            self.put(inside[-1], schema.get("additionalProperties"), given)
            self.put(inside[0], schema.get("propertyNames"), given)


def _branches(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the alternatives of a choice but null; those that a tag tells apart are a choice in the choice."""
    for one in schema.get("anyOf", ()):
        if "anyOf" in one:
            yield from _branches(one)
        elif one != {"type": "null"}:
            yield one


def _plain(annotation: Any, given: Mapping[Any, Any]) -> Any:
    """Give what a type variable, an alias or a qualifier stands for."""
    while True:
        if isinstance(annotation, TypeVar) and annotation in given:
            annotation = given[annotation]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif getattr(get_origin(annotation), "_name", None) in _QUALIFIERS:
            annotation = get_args(annotation)[0]
        else:
            return annotation


def _is_unset(kind: Any) -> bool:
    return getattr(kind, "__name__", "") == "UnsetType"


def _fields(kind: Any) -> dict[str, str]:
    """Give the fields of a class by name, each with the key that it is sent under."""
    if hasattr(kind, "__struct_fields__"):
        return dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    if is_dataclass(kind):
        return {name: name for name in kind.__dataclass_fields__}
    if typing_extensions.is_typeddict(kind):
        return {name: name for name in get_type_hints(kind)}
    return {name: name for name in getattr(kind, "_fields", ())}
