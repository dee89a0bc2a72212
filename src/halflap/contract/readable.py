"""TypedDicts of `typing` as pydantic can read them: below Python 3.12 it takes only those of `typing_extensions`."""

from __future__ import annotations

import sys
import typing
from typing import TYPE_CHECKING, Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

import typing_extensions
from typing_inspection.introspection import AnnotationSource, inspect_annotation, is_union_origin

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["readable"]


def readable(kind: Any) -> Any:
    """Give a type in which each such TypedDict is replaced by one that says the same; inside of classes none is."""
    if sys.version_info >= (3, 12):
        return kind
    if typing_extensions.is_typeddict(kind) and type(kind).__module__ == "typing":
        return _made_again(kind)
    given = get_args(kind)
    inner = tuple(readable(one) for one in given)
    if inner == given or get_origin(kind) is typing.Literal:
        return kind
    if is_union_origin(get_origin(kind)):
        return Union[inner]  # noqa: UP007 -- of a tuple that is made while running
    return Annotated[(inner[0], *inner[1:])] if get_origin(kind) is Annotated else get_origin(kind)[inner]


def _made_again(kind: Any) -> Any:
    items: dict[str, Any] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        key = inspect_annotation(hint, annotation_source=AnnotationSource.TYPED_DICT)
        inner = readable(key.type)
        inner = Annotated[(inner, *key.metadata)] if key.metadata else inner
        # An older TypedDict does not see the qualifiers of `typing_extensions`; they win over its totality.
        needed = (name in kind.__required_keys__ or "required" in key.qualifiers) and (
            "not_required" not in key.qualifiers
        )
        items[name] = inner if needed else typing_extensions.NotRequired[inner]
    make = cast("Callable[[str, dict[str, Any]], Any]", typing_extensions.TypedDict)
    made = make(kind.__name__, items)
    made.__doc__ = kind.__doc__
    return made
