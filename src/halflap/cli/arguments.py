"""Arguments on the command line: in pairs, or as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.core.errors import UsageError
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ArgumentsOption", "JsonArgumentsOption", "arguments_of", "json_object"]

ArgumentsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        "-a",
        metavar="KEY=VALUE",
        help="Give one argument; its value is read as JSON where the tool does not want text.",
    ),
]
JsonArgumentsOption = Annotated[
    str | None,
    typer.Option(
        "--json-args", metavar="JSON", help="Give all arguments as one JSON object; - reads it from stdin."
    ),
]


def json_object(pairs: Sequence[str] | None, text: str | None) -> dict[str, Any] | None:
    """Give the arguments that are written as JSON, if they are; both ways at once make no sense."""
    if text is None:
        return None
    if pairs:
        raise UsageError("Give the arguments with --arg or with --json-args, not both.")
    try:
        value = json.loads(sys.stdin.buffer.read() if text == "-" else text)
    except ValueError as error:
        raise UsageError(
            f'--json-args is not JSON: {error}. Write an object, like {{"path": "README.md"}}.'
        ) from None
    except RecursionError:
        raise UsageError("--json-args is nested too deeply to be read. Give it with fewer levels.") from None
    if not isinstance(value, dict):
        raise UsageError('--json-args must be a JSON object, like {"path": "README.md"}.')
    return value


def arguments_of(pairs: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Read pairs of KEY=VALUE as the schema has them."""
    properties = schema.get("properties")
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise UsageError(
                f"--arg {pair!r} is not of the form KEY=VALUE. Write it like --arg path=README.md."
            )
        if key in found:
            raise UsageError(f"--arg {key!r} is given twice. A list is one argument: --arg '{key}=[1, 2]'.")
        wanted = properties.get(key) if isinstance(properties, dict) else None
        found[key] = _value(text, wanted if isinstance(wanted, dict) else {}, schema)
    return found


def _value(text: str, wanted: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """Read a value as the tool's schema has it: text where text is wanted, JSON otherwise."""
    if wanted.get("type") == "string":
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    fits = compile_schema({**definitions, **wanted})
    if fits is not None and fits.problems(value) and not fits.problems(text):
        # Where text and something else will do, as for an optional name, 123 can be meant as text.
        return text
    return value
