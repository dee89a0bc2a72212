"""One of Halflap's own tools: its definition, and the handler that answers its calls."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from halflap.core.errors import HalflapError, InvalidArgumentsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from halflap.core.codes import OtherCode
    from halflap.core.errors import ArgumentProblem
    from halflap.server.passthrough.client import Client

    Handler = Callable[[Mapping[str, Any], Client], Awaitable[dict[str, Any]]]

__all__ = ["Answer", "FrontTool", "Handler", "array", "field", "record", "with_error_objects"]

logger = logging.getLogger(__name__)

_INTERNAL: OtherCode = "internal"


def field(kind: str | list[str], description: str, **more: Any) -> dict[str, Any]:
    """Return the schema of a field."""
    return {"type": kind, **more, "description": description}


def record(required: str = "", *, closed: Any = False, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object; `closed` if it has no other properties."""
    return {
        "type": "object",
        "properties": properties,
        **({"required": required.split()} if required else {}),
        **({"additionalProperties": False} if closed else {}),
    }


def array(description: str, items: Mapping[str, Any]) -> dict[str, Any]:
    return field("array", description, items=items)


@dataclass(frozen=True, slots=True)
class Answer:
    """The text for the model, the same as structured content where there is some, and a note next to it."""

    text: str
    structured: Any = None
    note: str | None = None
    is_error: bool = False
    blocks: Sequence[Mapping[str, Any]] = ()
    """Further content: images, sounds, resources."""
    meta: Mapping[str, Any] | None = None
    code: str | None = None
    """The error code, if it is an error; goes into `_meta`, since some texts are prescribed."""

    @classmethod
    def json(cls, value: Any, **more: Any) -> Answer:
        """Return a value as structured content and as text."""
        return cls(json.dumps(value, indent=2, ensure_ascii=False), value, **more)

    def to_wire(self) -> dict[str, Any]:
        """Return the answer as the protocol's result."""
        texts = [self.text] if self.note is None else [self.text, self.note]
        blocks = [{"type": "text", "text": text} for text in texts]
        wire: dict[str, Any] = {"content": [*blocks, *self.blocks], "isError": self.is_error}
        if self.structured is not None:
            wire["structuredContent"] = self.structured
        code = {} if self.code is None else {"code": self.code}
        if code or self.meta:
            wire["_meta"] = {"halflap": {**code, **(self.meta or {})}}
        return wire


@dataclass(frozen=True)
class FrontTool:
    """A tool as `tools/list` shows it, with its handler."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    read_only: bool
    handler: Callable[[Mapping[str, Any], Client], Awaitable[Answer | dict[str, Any]]]
    """Returns an answer, or another server's result as it came."""
    errors: Sequence[str] = ()
    """The error codes of its answers, besides those that every tool can return."""
    destroys: bool = True
    """Whether it may destroy something, or act outside Halflap, if it is not read-only."""
    checks: bool = True
    """Whether arguments are validated before the handler gets them; if not, the handler does it."""

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        effect = {"readOnlyHint": True} if self.read_only else {"destructiveHint": self.destroys}
        annotations = {**effect, "openWorldHint": not self.read_only and self.destroys}
        output = {} if self.output_schema is None else {"outputSchema": self.output_schema}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            **output,
            "annotations": annotations,
        }

    async def answer(self, arguments: Mapping[str, Any], client: Client) -> dict[str, Any]:
        """Validate the arguments and answer."""
        if self.checks and _problems(self.input_schema, arguments):
            # An extra argument alone is harmless; together with a missing one, it is probably that one misspelled.
            closed = {**self.input_schema, "additionalProperties": False}
            raise InvalidArgumentsError(self.name, _problems(closed, arguments))
        answer = await self.handler(arguments, client)
        return answer.to_wire() if isinstance(answer, Answer) else answer


def _problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Sequence[ArgumentProblem]:
    from halflap.schema import compile_schema  # noqa: PLC0415 -- it loads much that listing the tools does not need

    validator = compile_schema(schema)
    return [] if validator is None else validator.problems(dict(arguments))


def with_error_objects(handler: Handler) -> Callable[[Mapping[str, Any], Client], Awaitable[Answer]]:
    """Return a handler of a dspy or gepa tool, whose failures are error objects."""

    async def answer(arguments: Mapping[str, Any], client: Client) -> Answer:
        try:
            return Answer.json(await handler(arguments, client))
        except HalflapError as error:
            failure, code = {"code": error.seed_code, "message": str(error)}, error.code
        except Exception as error:
            logger.exception("one of our own tools failed")
            message = f"Halflap failed to answer ({type(error).__name__}). See its log."
            failure, code = {"code": "EXECUTION_ERROR", "message": message}, _INTERNAL
        return Answer.json({"error": True, **failure}, is_error=True, code=code)

    return answer
