"""Validate what is in a file with the models, and collect everything that is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from halflap.config.expand import Expansion
from halflap.config.source import location
from halflap.core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halflap.config.expand import Scope
    from halflap.config.source import Location, Source
    from halflap.core.codes import ConfigCode

_WORDS = {
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "string_pattern_mismatch": "must not be empty",
}
"""Where pydantic speaks of Python's types; otherwise its own words are used."""
M = TypeVar("M", bound=BaseModel)


def problem(
    code: ConfigCode, message: str, suggestion: str | None = None, *, at: str | None = None
) -> PydanticCustomError:
    """Return an error that a validator can raise; the setting's name is put in front of the message.

    `at` is the key to blame when several are validated together.
    """
    return PydanticCustomError(code, "{message}", {"message": message, "suggestion": suggestion, "at": at})


@dataclass(slots=True)
class Reader:
    """Reads one file. Without a scope, every `${…}` stays as written."""

    source: Source
    scope: Scope | None = None
    problems: list[ConfigProblem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(
        self,
        path: Location,
        message: str,
        suggestion: str | None = None,
        *,
        code: ConfigCode = "config-wrong-value",
    ) -> None:
        line = self.source.line(path)
        self.problems.append(ConfigProblem(self.source.file, line, message, suggestion, code))

    def warn(self, path: Location, message: str) -> None:
        self.warnings.append(f"{self.source.file or 'configuration'}: {location(path)} {message}")

    def read(self, model: type[M], path: Location, value: Any) -> tuple[M | None, Expansion]:
        """Expand and validate the value at a path; None if anything is wrong. No message quotes a value."""
        expansion = Expansion(self.scope)
        value = expansion.expand(value, path)
        for where, error in expansion.errors:
            self.add(where, f"{location(where)}: {error}", error.suggestion, code=error.code)
        reported = {where for where, _ in expansion.errors}
        try:
            valid = model.model_validate(value, context=self.scope)
        except ValidationError as invalid:
            for one in invalid.errors(include_url=False):
                where = (*path, *one["loc"])
                if where not in reported:
                    code, message, suggestion = _explain(one, model, location(where))
                    key = one.get("ctx", {}).get("at")
                    self.add((*where, key) if key else where, message, suggestion, code=code)
            return None, expansion
        return (None if expansion.errors else valid), expansion

    def raise_problems(self) -> None:
        if self.problems:
            raise ConfigError(in_order(self.problems, [self.source.file]))


def in_order(problems: Sequence[ConfigProblem], files: Sequence[Path | None]) -> list[ConfigProblem]:
    """Sort problems by file, those of other files last, and line."""
    places = {file: number for number, file in enumerate(files)}
    return sorted(problems, key=lambda one: (places.get(one.file, len(places)), one.line or 0))


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


def suggest_key(key: str, model: type[BaseModel]) -> str | None:
    instead: Mapping[str, str] = getattr(model, "instead", {})
    keys = [info.alias or name for name, info in model.model_fields.items()]
    return instead.get(key) or _nearest(key, keys, f"Known keys: {', '.join(keys)}.")


def _model_at(path: Sequence[str | int], model: type[BaseModel]) -> type[BaseModel]:
    """Return the model of a nested mapping, for the names of its keys."""
    for part in path:
        info = model.model_fields.get(str(part))
        inner = [] if info is None else [info.annotation, *get_args(info.annotation)]
        model = next((one for one in inner if isinstance(one, type) and issubclass(one, BaseModel)), model)
    return model
