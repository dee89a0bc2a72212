"""The only path to a tool: policy, validation, send, record, for every caller."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halflap.calls.record import new_id
from halflap.errors import ArgumentProblem, HalflapError, InvalidArgumentsError, ToolFailedError
from halflap.schema import Validator, compile_schema, parse_schema
from halflap.store import CallRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.calls.policy import Policy
    from halflap.calls.record import Recorder
    from halflap.catalog import Snapshot
    from halflap.values import CallContext, Result, Tool, ToolSource

__all__ = ["Calls"]

_DEEPEST = 100
"""Deeper arguments than this are refused: libraries on the way give up at some depth, each at its own."""
_LARGE = 200_000
_COMPILED = 1_000
"""So many compiled schemas are kept."""


class Calls:
    """Every call of every face goes through `call`."""

    def __init__(self, policy: Policy, recorder: Recorder, snapshot: Callable[[], Snapshot]) -> None:
        self.policy = policy
        self._recorder = recorder
        self._snapshot = snapshot
        self._sources: dict[str, ToolSource] = {}
        self._compiled: OrderedDict[tuple[str, str], Validator | None] = OrderedDict()

    def register(self, source: ToolSource) -> None:
        """Make a source's tools callable."""
        self._sources[source.name] = source

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
        """Call a tool by its namespaced name."""
        started, began = time.time(), time.perf_counter()
        tool = self._snapshot().find(name)
        size = 0
        result: Result | None = None
        outcome = "cancelled"
        breach = None

        def admit() -> None:
            # Asked again when the server is up: its tool may have changed, or gone, since it was looked up.
            nonlocal tool
            snapshot = self._snapshot()
            tool = snapshot.find(name)
            self.policy.admit(tool, snapshot)
            if context.rule is not None:
                context.rule(tool)
            self._validate(tool, arguments)

        try:
            self.policy.admit(tool, self._snapshot())
            if context.rule is not None:
                context.rule(tool)
            size = _size(tool, arguments)
            try:
                result = await self._sources[tool.server].call(
                    tool.original_name,
                    arguments,
                    context,
                    repeatable=self.policy.is_repeatable(tool),
                    admit=admit,
                )
            except ToolFailedError as error:
                raise ToolFailedError(name, error.server, error.rpc_code, error.message) from error
            outcome = "tool_error" if result.is_error else "ok"
            breach = self._breach(tool, result)
        except HalflapError as error:
            outcome = error.code
            raise
        except asyncio.CancelledError:
            raise
        except Exception:
            outcome = "crash"
            raise
        else:
            return result
        finally:
            self._recorder.add(
                CallRecord(
                    id=new_id(),
                    run=context.run,
                    parent=context.parent,
                    principal=context.principal,
                    server=tool.server,
                    tool=tool.original_name,
                    definition_hash=tool.hash,
                    started_at=started,
                    duration_ms=(time.perf_counter() - began) * 1000,
                    outcome=outcome,
                    argument_bytes=size,
                    result_bytes=0 if result is None else _result_size(result),
                    breach=breach,
                )
            )

    def _validate(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        validator = self._validator(tool, "input", tool.input_schema)
        problems = [] if validator is None else validator.problems(dict(arguments))
        if problems:
            raise InvalidArgumentsError(tool.name, problems, parse_schema(tool).format_compact())

    def _breach(self, tool: Tool, result: Result) -> str | None:
        """Say where a result breaks what its tool declares. It is delivered all the same."""
        if tool.output_schema is None or result.is_error:
            return None
        if not result.has_structured_content:
            return "no structured content"
        validator = self._validator(tool, "output", tool.output_schema)
        problems = [] if validator is None else validator.problems(result.structured_content)
        return str(problems[0])[:500] if problems else None

    def _validator(self, tool: Tool, side: str, schema: Mapping[str, Any]) -> Validator | None:
        key = (tool.hash, side)
        if key not in self._compiled:
            self._compiled[key] = compile_schema(schema)
            if len(self._compiled) > _COMPILED:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(key)
        return self._compiled[key]


def _size(tool: Tool, arguments: Mapping[str, Any]) -> int:
    """Measure the arguments as they would be sent; refuse what cannot be."""
    try:
        if _is_deeper(arguments, _DEEPEST):
            raise ValueError(f"nested more than {_DEEPEST} levels deep")  # noqa: TRY301 -- reported below
        return len(json.dumps(dict(arguments), allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        problem = ArgumentProblem("", "JSON", f"what is not JSON: {error}")
        raise InvalidArgumentsError(tool.name, [problem], parse_schema(tool).format_compact()) from error


def _is_deeper(value: Any, levels: int) -> bool:
    """Say whether something is nested deeper than so many levels, without following it all the way."""
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, Mapping | list | tuple)
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
        ]
        if not layer:
            return False
    return True


def _result_size(result: Result) -> int:
    """Measure a result: to the byte if it is small, by its texts if it is large, which takes no time."""
    texts = sum(len(text) for block in result.content for text in block.values() if isinstance(text, str))
    if texts > _LARGE:
        return texts
    try:
        return len(json.dumps(result.to_wire(), ensure_ascii=False, default=str).encode(errors="replace"))
    except (TypeError, ValueError, RecursionError):
        # A result that cannot be measured is delivered all the same.
        return texts
