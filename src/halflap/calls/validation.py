"""Validation of arguments before a call, and of results against what their tool declares."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from halflap.core.errors import ArgumentProblem, InvalidArgumentsError
from halflap.learn import is_name
from halflap.schema import Validator, is_small, parse_schema, read_arguments, try_compile
from halflap.store import Breach

if TYPE_CHECKING:
    from halflap.calls.recorder import Recorder
    from halflap.core.values import Result, Tool
    from halflap.store import Store

    T = TypeVar("T")

__all__ = ["Validators", "aside"]

logger = logging.getLogger(__name__)

_MAX_PARTS = 100_000
"""Maximum number of subschemas in the cache, a few hundred bytes each; then it is cleared."""
_MAX_PATH = 500
_MAX_PATHS = 100
"""Maximum number of recorded breaches per definition."""


async def aside(work: Callable[[], T], *values: Any) -> T:
    """Process untrusted values, in a thread unless they are small."""
    return work() if is_small(*values) else await asyncio.to_thread(work)


class Validators:
    """Caches compiled schemas by the hash of the tool's definition, and knows which output schemas were violated."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._broken: dict[tuple[str, str], set[str]] = {}
        self._compiled: dict[tuple[str, str], Validator | str] = {}
        self._parts = 0.0

    async def sendable(self, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments as JSON; raise `InvalidArgumentsError` if they cannot be written as JSON.

        Optional arguments are left out if they are null and the schema wants another type; models often send these.
        """
        given = await aside(lambda: read_arguments(arguments), arguments)
        if isinstance(given, ArgumentProblem):
            raise await self._error(tool, [given])
        required = tool.input_schema.get("required")
        required = required if isinstance(required, list) else []
        kept = {name: value for name, value in given.items() if value is not None or name in required}
        if len(kept) == len(given) or not await self._problems(tool, "input", given):
            return given
        return given if await self._problems(tool, "input", kept) else kept

    async def check_arguments(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Raise `InvalidArgumentsError` for invalid arguments; those too expensive to check pass."""
        problems = await self._problems(tool, "input", dict(arguments))
        if problems:
            raise await self._error(tool, problems)

    async def load(self, store: Store) -> None:
        """Load the violations of output schemas found earlier."""
        for one in await store.breaches():
            self._broken.setdefault((one.server, one.definition_hash), set()).add(one.path)

    def is_broken(self, tool: Tool) -> bool:
        """Return whether a result violated the current output schema, so that the check must not rely on it."""
        return (tool.server, tool.schema_hash) in self._broken

    async def breach(self, tool: Tool, result: Result) -> ArgumentProblem | None:
        """Return the first place where a result violates the output schema, and record it."""
        if tool.output_schema is None or result.is_error:
            return None
        if not result.has_structured_content:
            problem = ArgumentProblem("", "structured content", "none")
        elif problems := await self._problems(tool, "output", result.structured_content):
            problem = problems[0]
        else:
            return None
        path, expected, now = problem.path[:_MAX_PATH], problem.expected[:_MAX_PATH], time.time()
        known = self._broken.setdefault((tool.server, tool.schema_hash), set())
        if path not in known and len(known) < _MAX_PATHS:
            known.add(path)
            where = path or "(the whole)"
            logger.info("A result of %s breaks its schema at %s: expected %s.", tool.name, where, expected)
        if path in known:
            key = (tool.server, tool.original_name, tool.schema_hash, path)
            self._recorder.add(Breach(*key, expected, first_at=now, last_at=now, times=1), "full")
        return problem

    async def unchecked(self, tool: Tool) -> str | None:
        """Return why a tool's arguments are not validated; None if they are."""
        validator = await self._validator(tool, "input")
        return validator if isinstance(validator, str) else None

    async def _error(self, tool: Tool, problems: list[ArgumentProblem]) -> InvalidArgumentsError:
        signature = await aside(lambda: parse_schema(tool).format_compact(), tool.input_schema)
        return InvalidArgumentsError(tool.name, problems, signature)

    async def _problems(
        self, tool: Tool, side: Literal["input", "output"], value: Any
    ) -> list[ArgumentProblem]:
        validator = await self._validator(tool, side)
        if isinstance(validator, str):
            logger.debug("The %s of %s is not validated: %s", side, tool.name, validator)
            return []
        # Problems of results are stored and shown to others, so they must not contain data.
        validate = partial(validator.problems, is_name=is_name if side == "output" else None)
        if validator.is_light(value):
            return validate(value)
        problems = await asyncio.to_thread(validate, value)
        if not problems and not await asyncio.to_thread(validator.is_checked, value):
            logger.info("The %s of %s was not validated: that would take too long.", side, tool.name)
        return problems

    async def _validator(self, tool: Tool, side: Literal["input", "output"]) -> Validator | str:
        """Return the compiled schema, or the reason why it cannot be used."""
        key = (tool.hash, side)
        if key not in self._compiled:
            schema = tool.input_schema if side == "input" else tool.output_schema
            compiled = await aside(lambda: try_compile(schema), schema)
            self._parts += compiled.parts if isinstance(compiled, Validator) else 1
            if self._parts > _MAX_PARTS:
                self._compiled.clear()
                self._parts = 0
            self._compiled[key] = compiled
        return self._compiled[key]
