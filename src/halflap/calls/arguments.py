"""Validation of arguments before a call, and of results against what their tool declares."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ArgumentProblem, InvalidArgumentsError
from halflap.learn import is_name
from halflap.schema import Validator, is_small, parse_schema, read_arguments, try_compile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal, TypeVar

    from halflap.core.values import Result, Tool

    T = TypeVar("T")

__all__ = ["Validators", "aside"]

logger = logging.getLogger(__name__)

_MOST_KEPT = 1_000
_MOST_PARTS_KEPT = 100_000
"""Compiled schemas in the cache, and subschemas of them, at some hundred bytes each."""


async def aside(work: Callable[[], T], *values: Any) -> T:
    """Work on untrusted values: at once if they are small, otherwise in a thread."""
    return work() if is_small(*values) else await asyncio.to_thread(work)


class Validators:
    """Compiled schemas, cached by the hash of their tool's definition."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[tuple[str, str], Validator | str] = OrderedDict()
        self._parts = 0.0

    async def sendable(self, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments as JSON; raise `InvalidArgumentsError` if they are not."""
        read = await aside(lambda: read_arguments(arguments), arguments)
        if read.value is None:
            raise await self._error(tool, [] if read.problem is None else [read.problem])
        return read.value

    async def check_arguments(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Raise `InvalidArgumentsError` if they do not fit; what cannot be checked within reason passes."""
        problems = await self._problems(tool, "input", tool.input_schema, dict(arguments))
        if problems:
            raise await self._error(tool, problems)

    async def without_nulls(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        """Leave out optional arguments that are null where the schema wants another type; models often send these."""
        required = tool.input_schema.get("required")
        kept = {
            name: value
            for name, value in arguments.items()
            if value is not None or (isinstance(required, list) and name in required)
        }
        if len(kept) == len(arguments) or not await self._problems(
            tool, "input", tool.input_schema, arguments
        ):
            return arguments
        return arguments if await self._problems(tool, "input", tool.input_schema, kept) else kept

    async def breach(self, tool: Tool, result: Result) -> ArgumentProblem | None:
        """Return the first place where a result breaks what its tool declares."""
        if tool.output_schema is None or result.is_error:
            return None
        if not result.has_structured_content:
            return ArgumentProblem("", "structured content", "none")
        problems = await self._problems(tool, "output", tool.output_schema, result.structured_content)
        return problems[0] if problems else None

    async def unchecked(self, tool: Tool) -> str | None:
        """Return why arguments of a tool are not validated, if they are not."""
        validator = await self._validator(tool, "input", tool.input_schema)
        if isinstance(validator, str):
            return validator
        return await aside(validator.unchecked, tool.input_schema)

    async def _error(self, tool: Tool, problems: list[ArgumentProblem]) -> InvalidArgumentsError:
        signature = await aside(lambda: parse_schema(tool).format_compact(), tool.input_schema)
        return InvalidArgumentsError(tool.name, problems, signature)

    async def _problems(
        self, tool: Tool, side: Literal["input", "output"], schema: Any, value: Any
    ) -> list[ArgumentProblem]:
        validator = await self._validator(tool, side, schema)
        if isinstance(validator, str):
            logger.debug("The %s of %s is not validated: %s", side, tool.name, validator)
            return []
        # Problems of results are stored and shown to others, so they must not quote data.
        validate = partial(validator.problems, is_name=is_name if side == "output" else None)
        if validator.is_light(value):
            return validate(value)
        problems = await asyncio.to_thread(validate, value)
        if not problems and not await asyncio.to_thread(validator.is_checked, value):
            logger.info("The %s of %s was not validated: that would take too long.", side, tool.name)
        return problems

    async def _validator(self, tool: Tool, side: str, schema: Any) -> Validator | str:
        """Return the compiled schema, or why it cannot be used."""
        key = (tool.hash, side)
        if key in self._compiled:
            self._compiled.move_to_end(key)
            return self._compiled[key]
        compiled = await aside(lambda: try_compile(schema), schema)
        if key not in self._compiled:
            self._parts += _parts(compiled)
        self._compiled[key] = compiled
        while len(self._compiled) > _MOST_KEPT or (
            len(self._compiled) > 1 and self._parts > _MOST_PARTS_KEPT
        ):
            self._parts -= _parts(self._compiled.popitem(last=False)[1])
        return compiled


def _parts(compiled: Validator | str) -> float:
    return compiled.parts if isinstance(compiled, Validator) else 1
