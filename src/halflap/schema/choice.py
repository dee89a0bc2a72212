"""Which choice of a schema was meant: what is wrong with a value is wrong in that one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.schema.refer import References

    Errors = list[jsonschema_rs.ValidationError]

__all__ = ["Choices", "is_of_choices", "misfits", "tags_of"]

_MOST_TAGS = 200
_MOST_STEPS = 4
_Kind = jsonschema_rs.ValidationErrorKind
_WRONG_VALUE = (_Kind.Enum, _Kind.Constant)


def is_of_choices(kind: jsonschema_rs.ValidationErrorKind) -> bool:
    """Say whether an error is that a value fits none of several choices."""
    return isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid)


def misfits(error: jsonschema_rs.ValidationError, path: list[str | int]) -> bool:
    """Say whether an error is that the value at this path is of another kind altogether."""
    if error.instance_path != path:
        return False
    kind = error.kind
    if isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid):
        return all(any(misfits(one, path) for one in branch) for branch in kind.context)
    return isinstance(kind, (_Kind.Type, *_WRONG_VALUE))


def tags_of(part: Any, references: References, steps: int = _MOST_STEPS) -> dict[str, list[Any]]:
    """Find the keys that have only certain values in this choice, by which it is told from others."""
    if not isinstance(part, dict) or not steps:
        return {}
    tags: dict[str, list[Any]] = {}
    whole = part.get("allOf")
    beside = [references.find(part.get("$ref")), *(whole[:20] if isinstance(whole, list) else ())]
    for one in beside:
        tags |= tags_of(one, references, steps - 1)
    properties = part.get("properties")
    for name, inner in islice(properties.items() if isinstance(properties, dict) else (), _MOST_TAGS):
        said = inner
        if isinstance(inner, dict) and isinstance(inner.get("$ref"), str):
            said = references.find(inner["$ref"])
        if isinstance(said, dict) and "const" in said:
            tags[name] = [said["const"]]
        elif isinstance(said, dict) and isinstance(said.get("enum"), list) and said["enum"]:
            tags[name] = said["enum"]
    return tags


class Choices:
    """The choices that a value fits none of, narrowed down to those that it was meant for."""

    def __init__(
        self,
        path: list[str | int],
        branches: Sequence[Errors],
        value: Any,
        tags: Callable[[int], Mapping[str, list[Any]]],
    ) -> None:
        self._path = path
        self._branches = branches
        self.fitting = [
            place
            for place, branch in enumerate(branches)
            if branch and not any(misfits(one, path) for one in branch)
        ]
        self.wrong_tag: str | None = None
        """The key that says which choice is meant, where it is missing, or says none of them."""
        self.values: list[Any] = []
        """What it could say."""
        if isinstance(value, dict) and len(self.fitting) > 1:
            self._narrow(value, {place: tags(place) for place in self.fitting})

    @property
    def errors(self) -> list[Errors]:
        """What is wrong in each choice that the value may have been meant for."""
        return [self._branches[place] for place in self.fitting]

    def _narrow(self, value: Mapping[str, Any], tags: Mapping[int, Mapping[str, list[Any]]]) -> None:
        for name in islice(dict.fromkeys(name for named in tags.values() for name in named), _MOST_TAGS):
            wrong = {place for place in self.fitting if self._is_wrong(place, name)}
            tagged = [place for place in self.fitting if name in tags[place]]
            right = [place for place in tagged if place not in wrong]
            if name in value and right:
                self.fitting = [place for place in self.fitting if place not in wrong]
            elif len(tagged) == len(self.fitting) > 1 and (
                name in value or all(self._is_missing(place, name) for place in tagged)
            ):
                self.wrong_tag = name
                self.values = [one for place in tagged for one in tags[place][name]]
                return

    def _is_wrong(self, place: int, name: str) -> bool:
        return any(
            isinstance(one.kind, _WRONG_VALUE)
            and len(one.instance_path) == len(self._path) + 1
            and str(one.instance_path[-1]) == name
            for one in self._branches[place]
        )

    def _is_missing(self, place: int, name: str) -> bool:
        return any(
            isinstance(one.kind, _Kind.Required)
            and one.kind.property == name
            and one.instance_path == self._path
            for one in self._branches[place]
        )
