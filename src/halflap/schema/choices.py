"""Which alternative of an `anyOf` or `oneOf` a value was meant for, so that its problems can be reported."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.schema.refs import References

    Errors = list[jsonschema_rs.ValidationError]
    Tags = Mapping[str, list[Any]]

__all__ = ["Choices", "has_wrong_type", "is_choice_error", "tags_of"]

_MAX_TAGS = 200
_MAX_STEPS = 4
_Kind = jsonschema_rs.ValidationErrorKind
_WRONG_VALUE = (_Kind.Enum, _Kind.Constant)


def is_choice_error(kind: jsonschema_rs.ValidationErrorKind) -> bool:
    return isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid)


def has_wrong_type(error: jsonschema_rs.ValidationError, path: list[str | int]) -> bool:
    """Return whether the error is that the value at this path has another type or value altogether."""
    if error.instance_path != path:
        return False
    kind = error.kind
    if isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid):
        return all(any(has_wrong_type(one, path) for one in branch) for branch in kind.context)
    return isinstance(kind, (_Kind.Type, *_WRONG_VALUE))


def tags_of(part: Any, references: References, steps: int = _MAX_STEPS) -> dict[str, list[Any]]:
    """Return the keys that have only certain values in this alternative, by which it can be recognised."""
    if not isinstance(part, dict) or not steps:
        return {}
    tags: dict[str, list[Any]] = {}
    combined = part.get("allOf")
    for one in (references.find(part.get("$ref")), *(combined[:20] if isinstance(combined, list) else ())):
        tags |= tags_of(one, references, steps - 1)
    properties = part.get("properties")
    for name, inner in islice(properties.items() if isinstance(properties, dict) else (), _MAX_TAGS):
        if isinstance(inner, dict) and isinstance(inner.get("$ref"), str):
            inner = references.find(inner["$ref"])  # noqa: PLW2901
        if isinstance(inner, dict) and "const" in inner:
            tags[name] = [inner["const"]]
        elif isinstance(inner, dict) and isinstance(inner.get("enum"), list) and inner["enum"]:
            tags[name] = inner["enum"]
    return tags


class Choices:
    """The alternatives that a value fits none of, narrowed down to those that it was meant for."""

    def __init__(
        self,
        path: list[str | int],
        branches: Sequence[Errors],
        value: Any,
        tags: Callable[[int], Tags],
    ) -> None:
        self._path = path
        self._branches = branches
        self._meant = [
            at
            for at, branch in enumerate(branches)
            if branch and not any(has_wrong_type(one, path) for one in branch)
        ]
        self.wrong_tag: str | None = None
        """The key that selects the alternative, where it is missing or has none of their values."""
        self.tag_values: list[Any] = []
        if isinstance(value, dict) and len(self._meant) > 1:
            self._narrow(value, {at: tags(at) for at in self._meant})

    @property
    def errors(self) -> list[Errors]:
        """What is wrong in each alternative that may have been meant."""
        return [self._branches[at] for at in self._meant]

    def _narrow(self, value: Mapping[str, Any], tags: Mapping[int, Tags]) -> None:
        for name in islice(dict.fromkeys(name for named in tags.values() for name in named), _MAX_TAGS):
            wrong = {at for at in self._meant if self._is_wrong(at, name)}
            tagged = [at for at in self._meant if name in tags[at]]
            if name in value and any(at not in wrong for at in tagged):
                self._meant = [at for at in self._meant if at not in wrong]
            elif len(tagged) == len(self._meant) > 1 and (
                name in value or all(self._is_missing(at, name) for at in tagged)
            ):
                self.wrong_tag = name
                self.tag_values = [one for at in tagged for one in tags[at][name]]
                return

    def _is_wrong(self, at: int, name: str) -> bool:
        return any(
            isinstance(one.kind, _WRONG_VALUE)
            and len(one.instance_path) == len(self._path) + 1
            and str(one.instance_path[-1]) == name
            for one in self._branches[at]
        )

    def _is_missing(self, at: int, name: str) -> bool:
        return any(
            isinstance(one.kind, _Kind.Required)
            and one.kind.property == name
            and one.instance_path == self._path
            for one in self._branches[at]
        )
