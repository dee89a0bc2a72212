"""One of Halflap's own tools: its definition from `definitions.yaml`, and the handler that answers its calls."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import yaml

from halflap.core.errors import InvalidArgumentsError, SeedCode

if TYPE_CHECKING:
    from halflap.gateway import Gateway
    from halflap.schema import Validator
    from halflap.server.client import Client

    Arguments = Mapping[str, Any]
    Handler = Callable[[Gateway, Arguments, Client], Awaitable[dict[str, Any]]]
    """Returns the protocol's result in the core family, a JSON value in the others."""

_DEFINITIONS: Mapping[str, Mapping[str, Any]] = yaml.load(
    files(__package__ or "").joinpath("definitions.yaml").read_text(encoding="utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),  # noqa: S506 -- a safe loader
)
_BUNDLED = "Program name: worklet_selector, resource_router, anomaly_forensics, runtime_adaptation"
_OTHERS = "Program name, from dspy_list_programs"


def answer(
    text: str,
    structured: Any = None,
    *,
    note: str | None = None,
    is_error: bool = False,
    blocks: Iterable[Mapping[str, Any]] = (),
    code: str | None = None,
    meta: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """Return the protocol's result. The code of an error is in `_meta`, since the seeds prescribe some texts."""
    texts = [text] if note is None else [text, note]
    content = [*({"type": "text", "text": one} for one in texts), *blocks]
    result: dict[str, Any] = {"content": content, "isError": is_error}
    if structured is not None:
        result["structuredContent"] = structured
    if code is not None:
        meta = {"code": code, **meta}
    if meta:
        result["_meta"] = {"halflap": meta}
    return result


def json_answer(value: Any, **more: Any) -> dict[str, Any]:
    """Return a value as structured content and as text."""
    return answer(json.dumps(value, indent=2, ensure_ascii=False), value, **more)


@dataclass(frozen=True)
class OwnTool:
    """A tool as `tools/list` shows it, with its handler."""

    gateway: Gateway
    definition: Mapping[str, Any]
    errors: Sequence[str]
    """The error codes of its answers, besides those that every tool can return."""
    handler: Handler
    returns_error_objects: bool
    """Whether failures are error objects, and the handler validates the arguments: in the dspy and gepa families."""

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    @property
    def description(self) -> str:
        return str(self.definition["description"])

    @property
    def input_schema(self) -> Mapping[str, Any]:
        schema: Mapping[str, Any] = self.definition["inputSchema"]
        return schema

    async def answer(self, arguments: Arguments, client: Client) -> dict[str, Any]:
        """Validate the arguments and answer."""
        gateway = self.gateway.seen_by(client.principal)
        if self.returns_error_objects:
            return json_answer(await self.handler(gateway, arguments, client))
        if self._validator.problems(dict(arguments)):
            # An extra argument alone is harmless; with a missing one, it is probably that one misspelled.
            closed = _compiled({**self.input_schema, "additionalProperties": False})
            raise InvalidArgumentsError(self.name, closed.problems(dict(arguments)))
        return await self.handler(gateway, arguments, client)

    @cached_property
    def _validator(self) -> Validator:
        return _compiled(self.input_schema)


def _compiled(schema: Mapping[str, Any]) -> Validator:
    from halflap.schema import compile_schema  # noqa: PLC0415 -- slow to import, and not needed to list the tools

    validator = compile_schema(schema)
    assert validator is not None, "our own schemas are valid"
    return validator


def family(
    gateway: Gateway,
    handlers: Mapping[str, Handler],
    outputs: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    error_codes: Sequence[SeedCode] = (),
) -> list[OwnTool]:
    """Return tools bound to a gateway.

    `outputs` has the output schemas that are not in the file; `error_codes` are those of error objects.
    """
    limits = gateway.config.execution
    values = {
        "modules": " and ".join(filter(None, ("Standard library", ", ".join(limits.modules)))),
        "seconds": f"{limits.timeout_seconds:g}",
        "calls": f"{limits.max_calls}",
        "kilobytes": f"{limits.max_output_bytes / 1024:g}",
        "programs": _BUNDLED if gateway.config.programs.root is None else _OTHERS,
    }
    tools = []
    for name, handler in handlers.items():
        definition = {"name": name, **_substituted(_DEFINITIONS[name], values)}
        errors = definition.pop("errors", ())
        output = (outputs or {}).get(name) or definition.get("outputSchema")
        if output is not None:
            definition["outputSchema"] = _or_error_object(output, error_codes) if error_codes else output
        tools.append(OwnTool(gateway, definition, errors, handler, bool(error_codes)))
    return tools


def _substituted(definition: Any, values: Mapping[str, str]) -> Any:
    """Return a copy of a definition with the values of the configuration in its texts."""
    if isinstance(definition, dict):
        return {key: _substituted(one, values) for key, one in definition.items()}
    if isinstance(definition, list):
        return [_substituted(one, values) for one in definition]
    return Template(definition).substitute(values) if isinstance(definition, str) else definition


def _or_error_object(schema: Mapping[str, Any], codes: Sequence[str]) -> dict[str, Any]:
    """Return the schema of an answer that is either this one or an error object."""
    fields = {key: value for key, value in schema.items() if key != "required"}
    error = {
        "properties": {
            "error": {"const": True, "description": "Present if there is no answer"},
            "code": {"description": "Kind of error", "enum": list(codes)},
            "message": {"type": "string", "description": "What is wrong, and what to do"},
        },
        "required": ["error", "code", "message"],
    }
    return {**fields, "anyOf": [{"required": schema["required"]}, error]}
