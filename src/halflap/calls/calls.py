"""The only path to a tool: policy, validation, send, record, for every caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.calls.checks import Checks
from halflap.calls.trace import CallTrace
from halflap.errors import ArgumentProblem, HalflapError, InvalidArgumentsError, ToolFailedError
from halflap.schema import parse_schema, unsendable

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.calls.policy import Policy
    from halflap.calls.record import Recorder
    from halflap.catalog import Snapshot
    from halflap.values import CallContext, Result, Tool, ToolSource

__all__ = ["Calls"]

_DEEPEST = 100
"""Deeper arguments than this are refused: libraries on the way give up at some depth, each at its own."""
_MOST_PROBLEMS = 20


class Calls:
    """Every call of every face goes through `call`."""

    def __init__(self, policy: Policy, recorder: Recorder, snapshot: Callable[[], Snapshot]) -> None:
        self.policy = policy
        self._recorder = recorder
        self._snapshot = snapshot
        self._sources: dict[str, ToolSource] = {}
        self.checks = Checks()

    def register(self, source: ToolSource) -> None:
        """Make a source's tools callable."""
        self._sources[source.name] = source

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
        """Call a tool by its namespaced name."""
        snapshot = self._snapshot()
        tool = snapshot.find(name)
        trace = CallTrace(self._recorder, tool, context)
        result: Result | None = None
        outcome = "cancelled"
        breach = trouble = None

        async def admit() -> None:
            # Asked again when the server is up: its tool may have changed, or gone, since it was looked up,
            # and once more if it may have while the arguments were checked or the call was written down.
            nonlocal tool
            seen = None
            while seen is not self._snapshot():
                seen = self._snapshot()
                tool = seen.find(name)
                self._let(tool, seen, context)
                await self.checks.arguments(tool, arguments)
                if not trace.is_committed and not self.policy.is_read_only(tool):
                    await trace.commit(tool)

        try:
            self._let(tool, snapshot, context)
            trace.passed(arguments, _as_json(tool, arguments))
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
            breach = await self.checks.breach(tool, result)
        except HalflapError as error:
            outcome, trouble = error.code, str(error)
            raise
        except asyncio.CancelledError:
            raise
        except Exception as error:
            outcome, trouble = "crash", f"{type(error).__name__}: {error}"
            raise
        else:
            return result
        finally:
            trace.end(tool, outcome, result, breach, trouble)

    def _let(self, tool: Tool, snapshot: Snapshot, context: CallContext) -> None:
        """Refuse what nobody may call, and what this caller may not."""
        self.policy.admit(tool, snapshot)
        if context.rule is not None:
            context.rule(tool)


def _as_json(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Write the arguments as they would be sent; refuse what cannot be."""
    try:
        if _is_deeper(arguments, _DEEPEST):
            raise ValueError(f"nested more than {_DEEPEST} levels deep")  # noqa: TRY301 -- reported below
        text = json.dumps(dict(arguments), allow_nan=False, ensure_ascii=False)
        # Half a surrogate pair is a text for Python, but none that can be sent.
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        problems = (
            []
            if isinstance(error, RecursionError)
            else [*islice(unsendable(dict(arguments)), _MOST_PROBLEMS)]
        )
        problems = problems or [ArgumentProblem("", "JSON", f"what is not JSON: {error}")]
        raise InvalidArgumentsError(tool.name, problems, parse_schema(tool).format_compact()) from error
    else:
        return text


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
