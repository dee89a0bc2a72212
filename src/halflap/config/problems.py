"""Problems of configuration files, and how pydantic's errors become such problems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from halflap.core.errors import ConfigError, ConfigProblem
from halflap.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from halflap.core.codes import ConfigCode

_MAX_SHOWN = 60
_WORDS = {
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "string_pattern_mismatch": "must not be empty",
}
"""Where pydantic speaks of Python's types; otherwise its own words are used."""
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


def problem(
    code: ConfigCode, message: str, suggestion: str | None = None, *, at: str | None = None
) -> PydanticCustomError:
    """Return an error that a validator can raise; the setting's name is put in front of the message.

    `at` is the key to blame when several are validated together.
    """
    return PydanticCustomError(code, "{message}", {"message": message, "suggestion": suggestion, "at": at})


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
    warnings: list[str] = field(default_factory=list)

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
        empty = [key for key in _keys(model) if isinstance(value, Mapping) and value.get(key, "") is None]
        for key in empty:
            where = (*path, key)
            self.add(
                line(where), f"`{location(where)}` has no value.", "Leave the key out to get the default."
            )
        if empty:
            value = {key: member for key, member in value.items() if key not in empty}
        try:
            return model.model_validate(value, context=context)
        except ValidationError as error:
            found = error.errors(include_url=False)
        for one in found:
            where = (*path, *one["loc"])
            code, message, suggestion = _explain(one, model, location(where))
            at = one.get("ctx", {}).get("at")
            self.add(line((*where, at) if at else where), message, suggestion, code=code)
        wrong = {one["loc"][0] for one in found if one["loc"]}
        right = {key: member for key, member in value.items() if key not in wrong} if wrong else {}
        return model.model_validate(right, context=context)

    def raise_if_any(self) -> None:
        if self.found:
            raise ConfigError(self.in_order())

    def in_order(self) -> list[ConfigProblem]:
        return sorted(self.found, key=lambda one: (one.file != self.file, one.line or 0))


def _explain(error: Any, model: type[BaseModel], where: str) -> tuple[ConfigCode, str, str | None]:
    kind, path, context, value = error["type"], error["loc"], error.get("ctx", {}), error["input"]
    if kind.startswith("config-"):
        return kind, f"{where}: {context['message']}", context["suggestion"]
    if kind == "extra_forbidden":
        advice = suggest_key(str(path[-1]), _model_at(path[:-1], model))
        return "config-unknown-key", f"Unknown key `{where}`.", advice
    if kind == "missing":
        return "config-wrong-value", f"`{where}` is missing.", None
    suggestion = None
    if kind == "literal_error":
        suggestion = _nearest(value, re.findall(r"'([^']*)'", context["expected"]))
    elif kind in {"bool_type", "int_type", "float_type"} and isinstance(value, str):
        suggestion = "Write it without quotes."
    elif kind == "string_type" and isinstance(value, int | float):
        suggestion = "Put it in quotes."
    words = _WORDS.get(kind) or re.sub(r"^\w+ should", "must", error["msg"])
    return "config-wrong-value", f"`{where}` {words}.", suggestion


def _nearest(value: object, choices: Sequence[str], otherwise: str = "") -> str | None:
    # rapidfuzz is imported only when there is a mistake.
    from halflap.core.suggest import did_you_mean  # noqa: PLC0415

    return did_you_mean(str(value), choices, otherwise=otherwise) or None


def _keys(model: type[BaseModel]) -> list[str]:
    return [info.alias or name for name, info in model.model_fields.items()]


def suggest_key(key: str, model: type[BaseModel]) -> str | None:
    instead: Mapping[str, str] = getattr(model, "instead", {})
    return instead.get(key) or _nearest(key, _keys(model), f"Known keys: {', '.join(_keys(model))}.")


def _model_at(path: Sequence[str | int], model: type[BaseModel]) -> type[BaseModel]:
    for part in path:
        info = model.model_fields.get(str(part))
        inner = [] if info is None else [info.annotation, *get_args(info.annotation)]
        model = next((one for one in inner if isinstance(one, type) and issubclass(one, BaseModel)), model)
    return model
