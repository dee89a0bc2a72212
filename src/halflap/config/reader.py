"""Validate a file with the models, and collect all problems."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from halflap.config.expand import ExpansionError, Scope, expand
from halflap.config.syntax import Location, Source, location
from halflap.core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from halflap.core.codes import ConfigCode

_MAX_DEPTH = 100
_MAX_VALUES = 100_000
"""Values in one file; a YAML alias counts each time it is used."""
_WORDS = {
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "string_pattern_mismatch": "must not be empty",
}
"""Replacements for pydantic's messages about Python types."""
M = TypeVar("M", bound=BaseModel)


def problem(
    code: ConfigCode, message: str, suggestion: str | None = None, *, at: str | None = None
) -> PydanticCustomError:
    """Return an error for a validator to raise, with a message that follows the setting's name, as in "must be …".

    `at` is the key that gets the line, when several are validated together.
    """
    return PydanticCustomError(code, "{message}", {"message": message, "suggestion": suggestion, "at": at})


@dataclass(slots=True)
class Reader:
    """Reads one file. Without a scope, variables are not expanded."""

    source: Source
    scope: Scope | None = None
    problems: list[ConfigProblem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    empty: list[tuple[Location, str]] = field(default_factory=list)
    """Where empty variables are used, and their names."""
    _count: int = 0

    def add(
        self,
        path: Location,
        message: str,
        suggestion: str | None = None,
        code: ConfigCode = "config-wrong-value",
    ) -> None:
        line = self.source.line(path)
        self.problems.append(ConfigProblem(self.source.file, line, message, suggestion, code))

    def read(self, model: type[M], path: Location, value: Any) -> M | None:
        """Expand and validate the value at a path; return None on problems. No message quotes a value."""
        unexpanded: set[Location] = set()
        value = self._expanded(value, path, unexpanded)
        try:
            valid = model.model_validate(value, context=self.scope)
        except ValidationError as invalid:
            for error in invalid.errors(include_url=False):
                where = (*path, *error["loc"])
                if unexpanded.isdisjoint(where[:end] for end in range(len(where) + 1)):
                    key = error.get("ctx", {}).get("at")
                    self.add((*where, key) if key else where, *_explain(error, model, location(where)))
            return None
        return None if unexpanded else valid

    def _expanded(self, value: Any, path: Location, failed: set[Location]) -> Any:
        """Copy a value and expand its variables; report failures and add their paths to `failed`."""
        self._count += 1
        if len(path) > _MAX_DEPTH or self._count > _MAX_VALUES:
            message, advice = "The file is too large or nested too deeply.", "Avoid YAML aliases."
            raise ConfigError([ConfigProblem(self.source.file, None, message, advice, "config-too-large")])
        if isinstance(value, Mapping):
            return {key: self._expanded(inner, (*path, str(key)), failed) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._expanded(inner, (*path, at), failed) for at, inner in enumerate(value)]
        if value is None:
            # An empty `allow:` must not become the default, which allows everything.
            failed.add(path)
            self.add(path, f"`{location(path)}` has no value.", "Remove the key to get the default.")
        if isinstance(value, str) and self.scope is not None:
            try:
                value, names = expand(value, self.scope)
                self.empty += [(path, name) for name in names]
            except ExpansionError as error:
                failed.add(path)
                self.add(path, f"`{location(path)}` {error}", code="config-variable")
        return value

    def raise_problems(self) -> None:
        if self.problems:
            raise ConfigError(in_order(self.problems, [self.source.file]))


def in_order(problems: Sequence[ConfigProblem], files: Sequence[Path | None]) -> list[ConfigProblem]:
    """Sort problems by file and line; those in other files come last."""
    places = {file: number for number, file in enumerate(files)}
    return sorted(problems, key=lambda one: (places.get(one.file, len(places)), one.line or 0))


def _explain(error: Any, model: type[BaseModel], where: str) -> tuple[str, str | None, ConfigCode]:
    """Return message, suggestion and code for a pydantic error."""
    kind, path, context, value = error["type"], error["loc"], error.get("ctx", {}), error["input"]
    if kind.startswith("config-"):
        return f"`{where}` {context['message']}", context["suggestion"], kind
    if kind == "extra_forbidden":
        advice = _suggest_key(str(path[-1]), _model_at(path[:-1], model))
        return f"Unknown key `{where}`.", advice, "config-unknown-key"
    if kind == "missing":
        return f"`{where}` is missing.", None, "config-wrong-value"
    suggestion = None
    if kind == "literal_error":
        suggestion = _nearest(str(value), re.findall(r"'([^']*)'", context["expected"]))
    elif kind in {"bool_type", "int_type", "float_type"} and isinstance(value, str):
        suggestion = "Write it without quotes."
    elif kind == "string_type" and isinstance(value, int | float):
        suggestion = "Put it in quotes."
    words = _WORDS.get(kind) or re.sub(r"^\w+ should", "must", error["msg"])
    return f"`{where}` {words}.", suggestion, "config-wrong-value"


def _nearest(value: str, choices: Sequence[str], otherwise: str = "") -> str | None:
    # Imported only for mistakes.
    from halflap.core.suggest import did_you_mean  # noqa: PLC0415

    return did_you_mean(value, choices, otherwise=otherwise) or None


def _suggest_key(key: str, model: type[BaseModel]) -> str | None:
    instead: Mapping[str, str] = getattr(model, "instead", {})
    keys = [info.alias or name for name, info in model.model_fields.items()]
    return instead.get(key) or _nearest(key, keys, f"Known keys: {', '.join(keys)}.")


def _model_at(path: Sequence[str | int], model: type[BaseModel]) -> type[BaseModel]:
    """Return the model of a nested mapping."""
    for part in path:
        info = model.model_fields.get(str(part))
        inner = [] if info is None else [info.annotation, *get_args(info.annotation)]
        inner = [getattr(one, "__origin__", one) for one in inner]  # without Annotated
        model = next((one for one in inner if isinstance(one, type) and issubclass(one, BaseModel)), model)
    return model
