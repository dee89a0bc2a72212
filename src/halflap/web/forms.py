"""Forms generated from a tool's input schema, and the arguments entered into them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from halflap.core.errors import UsageError

__all__ = ["Input", "inputs_of", "read_inputs", "read_json"]

_PREFIX = "argument."
Kind = Literal["text", "integer", "number", "boolean", "choice", "json"]
_KINDS: dict[str, Kind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
_NUMBERS = {"integer": int, "number": float}


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a form."""

    name: str
    kind: Kind
    required: bool
    description: str
    choices: tuple[str, ...] = ()
    value: str = ""
    """The default, as text."""

    @property
    def field(self) -> str:
        return _PREFIX + self.name


def inputs_of(schema: Mapping[str, Any]) -> list[Input]:
    """Return an input for each parameter; anything but text, numbers, booleans and choices is entered as JSON."""
    properties = schema.get("properties")
    required = schema.get("required")
    found = []
    for name, one in properties.items() if isinstance(properties, Mapping) else ():
        about = one if isinstance(one, Mapping) else {}
        choices = about.get("enum")
        texts = isinstance(choices, list) and choices and all(isinstance(value, str) for value in choices)
        kind = "choice" if texts else _kind(about)
        default = about.get("default")
        found.append(
            Input(
                str(name),
                kind,
                isinstance(required, list) and name in required,
                str(about.get("description") or ""),
                tuple(choices) if texts and isinstance(choices, list) else (),
                "" if default is None else default if isinstance(default, str) else json.dumps(default),
            )
        )
    return found


def _kind(about: Mapping[str, Any]) -> Kind:
    return _KINDS.get(str(about.get("type")), "json")


def read_inputs(inputs: list[Input], form: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments, without empty inputs. Raises `UsageError` with the name of an invalid input."""
    found: dict[str, Any] = {}
    for one in inputs:
        text = form.get(one.field, "")
        if text == "":
            continue
        if one.kind in {"text", "choice"}:
            found[one.name] = text
        elif one.kind == "boolean":
            found[one.name] = text == "true"
        elif one.kind == "json":
            found[one.name] = read_json(text, f"`{one.name}`")
        else:
            try:
                found[one.name] = _NUMBERS[one.kind](text)
            except ValueError:
                raise UsageError(f"`{one.name}` must be a number, not {text[:80]!r}.") from None
    return found


def read_json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{what} is not JSON: {error}. Text needs quotes.") from None
    except RecursionError:
        raise UsageError(f"{what} is nested too deeply.") from None
