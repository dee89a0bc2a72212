"""Problems of configuration files, and how pydantic's errors become such problems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from halflap.core.errors import ConfigProblem
from halflap.core.text import join, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from halflap.core.codes import ConfigCode

__all__ = [
    "MAX_DEPTH",
    "Location",
    "M",
    "Problems",
    "SyntaxProblem",
    "location",
    "problem",
    "show",
    "suggest_key",
]

MAX_DEPTH = 100
"""Lists and mappings inside each other; more would exhaust Python's stack."""
_MAX_SHOWN = 60
_MAX_CHOICES_SHOWN = 10
_CODE_PREFIX = "config-"
_WORDS = {
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "bool_type": "must be true or false",
    "path_type": "must be a path",
    "string_type": "must be a string",
    "string_pattern_mismatch": "must not be empty",
}
_SUGGESTIONS = {
    "tuple_type": "Write the items between `[` and `]`, separated by commas.",
    "dict_type": "Write one `key: value` per line, indented.",
    "model_type": "Write one `key: value` per line, indented.",
    "bool_type": "Write it without quotes.",
    "float_type": "Write it as digits, without quotes.",
    "int_type": "Write it as digits, without quotes.",
}
Location = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)


class SyntaxProblem(Exception):  # noqa: N818 -- becomes a ConfigProblem
    """A text cannot be parsed."""

    def __init__(
        self,
        line: int | None,
        message: str,
        suggestion: str | None = None,
        code: ConfigCode = "config-syntax",
    ) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.suggestion = suggestion
        self.code: ConfigCode = code


def problem(code: ConfigCode, message: str, suggestion: str | None = None) -> PydanticCustomError:
    """Return an error that a validator can raise; the setting's name is put in front of the message."""
    return PydanticCustomError(code, "{message}", {"message": message, "suggestion": suggestion})


def show(text: str) -> str:
    """Return a name from a file in a form that is safe to print."""
    return visible(text, _MAX_SHOWN)


def location(path: Sequence[str | int]) -> str:
    """Return `servers[0].args` for a path of keys and positions."""
    text = ""
    for part in path:
        if part != "[key]":
            text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{show(part)}"
    return text


@dataclass(slots=True)
class Problems:
    """Collects every problem of one file, so that all are reported at once."""

    file: Path | None = None
    found: list[ConfigProblem] = field(default_factory=list)

    def add(
        self,
        line: int | None,
        message: str,
        suggestion: str | None = None,
        *,
        code: ConfigCode = "config-wrong-value",
    ) -> None:
        self.found.append(ConfigProblem(self.file, line, message, suggestion, code))

    def validated(
        self, model: type[M], value: Any, path: Location, line: Callable[[Location], int | None], context: Any
    ) -> M:
        """Validate the value at a path of the file. Keys that are wrong are reported, and left out of the result.

        No message quotes the value.
        """
        if isinstance(value, Mapping):
            known = {info.alias or name for name, info in model.model_fields.items()}
            for key in [key for key, member in value.items() if member is None and key in known]:
                where = (*path, key)
                self.add(
                    line(where), f"`{location(where)}` has no value.", "Leave the key out to get the default."
                )
                value = {name: member for name, member in value.items() if name != key}
        try:
            return model.model_validate(value, context=context)
        except ValidationError as error:
            found = error.errors(include_url=False)
        for one in found:
            where = (*path, *one["loc"])
            code, message, suggestion = _explain(one, model, location(where))
            self.add(line(where), message, suggestion, code=code)
        wrong = {one["loc"][0] for one in found if one["loc"]}
        right = {key: member for key, member in value.items() if key not in wrong} if wrong else {}
        return model.model_validate(right, context=context)

    def in_order(self) -> list[ConfigProblem]:
        return sorted(self.found, key=lambda one: (one.file != self.file, one.line or 0))


def _explain(error: Any, model: type[BaseModel], where: str) -> tuple[ConfigCode, str, str | None]:
    kind, path, context, value = error["type"], error["loc"], error.get("ctx", {}), error["input"]
    if kind.startswith(_CODE_PREFIX):
        return kind, f"{where}: {context['message']}", context["suggestion"]
    if kind == "extra_forbidden":
        return (
            "config-unknown-key",
            f"Unknown key `{where}`.",
            suggest_key(str(path[-1]), _model_at(path[:-1], model)),
        )
    if kind == "missing":
        return "config-wrong-value", f"`{where}` is missing.", None
    if kind == "literal_error":
        choices = [one[1:-1] for one in re.findall(r"'[^']*'", context["expected"])]
        named = join(choices, "or") if len(choices) <= _MAX_CHOICES_SHOWN else "one of the known names"
        return "config-wrong-value", f"`{where}` must be {named}.", _nearest(value, choices)
    words = _WORDS.get(kind) or re.sub(r"^\w+ should", "must", error["msg"])
    suggestion = "Put it in quotes." if kind == "string_type" and isinstance(value, int | float) else None
    return "config-wrong-value", f"`{where}` {words}.", _SUGGESTIONS.get(kind, suggestion)


def _nearest(value: object, choices: Sequence[str], otherwise: str = "") -> str | None:
    # rapidfuzz is imported only when there is a mistake.
    from halflap.core.suggest import did_you_mean  # noqa: PLC0415

    return did_you_mean(str(value), choices, otherwise=otherwise) or None


def suggest_key(key: str, model: type[BaseModel]) -> str | None:
    known = [info.alias or name for name, info in model.model_fields.items()]
    return _nearest(key, known, f"Known keys: {', '.join(known)}.")


def _model_at(path: Sequence[str | int], model: type[BaseModel]) -> type[BaseModel]:
    for part in path:
        info = model.model_fields.get(str(part))
        model = next(_models_in(info.annotation), model) if info else model
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
