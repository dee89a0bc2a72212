"""One call of a tool: authorize, validate, send, record."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.calls.arguments import Validators
from halflap.calls.trace import CallTrace
from halflap.catalog import namespaced
from halflap.core.errors import HalflapError, ToolFailedError, ToolNotFoundError
from halflap.core.values import OWN, Result, Tool
from halflap.store import TOOL_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from halflap.calls.breaches import Breaches
    from halflap.calls.policy import Policy
    from halflap.calls.recorder import Recorder
    from halflap.calls.trace import Observe
    from halflap.catalog import Snapshot
    from halflap.core.values import CallContext, RequestSource, ToolSource

__all__ = ["Calls"]

_LONGEST = 500


class Calls:
    """Every call of every face goes through `call`."""

    def __init__(
        self,
        policy: Policy,
        recorder: Recorder,
        snapshot: Callable[[], Snapshot],
        breaches: Breaches,
        observe: Observe | None = None,
    ) -> None:
        self.policy = policy
        self.breaches = breaches
        self.validators = Validators()
        self._recorder = recorder
        self._snapshot = snapshot
        self._observe = observe
        self._sources: dict[str, ToolSource] = {}
        self._servers: dict[str, RequestSource] = {}

    def register(self, source: ToolSource) -> None:
        """Make a source's tools callable."""
        self._sources[source.name] = source

    def register_server(self, server: RequestSource) -> None:
        """Make a server's tools callable, and what it offers besides them."""
        self._sources[server.name] = self._servers[server.name] = server

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
        """Call a tool by its namespaced name."""
        snapshot = self._snapshot()
        with self.finding(name, arguments, context):
            tool = snapshot.find(name)
        trace = CallTrace(self._recorder, tool, context, self._observe)
        resumable = bool(context.mark)
        # Calls nested in this one have identifiers of their own.
        context = replace(context, mark="") if resumable else context
        result: Result | None = None
        outcome = "cancelled"
        breach = error_text = None
        sent: dict[str, Any] = {}

        async def admit() -> None:
            # Asked right before sending. The catalogue may have changed since the lookup, and again while arguments
            # were validated or the call was written down.
            nonlocal tool
            seen = None
            while seen is not self._snapshot():
                seen = self._snapshot()
                tool = seen.find(name)
                self._authorize(tool, seen, context)
                await self.validators.check_arguments(tool, sent)
                if not trace.is_committed and (resumable or not self.policy.is_read_only(tool)):
                    await trace.commit(tool)

        try:
            self._authorize(tool, snapshot, context)
            sent = await self.validators.without_nulls(tool, await self.validators.sendable(tool, arguments))
            trace.set_arguments(sent, json.dumps(sent, allow_nan=False, ensure_ascii=False))
            try:
                result = await self._sources[tool.server].call(
                    tool.original_name,
                    sent,
                    context,
                    repeatable=self.policy.is_repeatable(tool),
                    admit=admit,
                )
            except ToolFailedError as error:
                raise ToolFailedError(
                    name, error.server, error.rpc_code, error.message, error.data
                ) from error
            outcome = TOOL_ERROR if result.is_error else "ok"
            breach = await self.validators.breach(tool, result)
            if breach is not None:
                self.breaches.note(tool, breach)
        except HalflapError as error:
            outcome, error_text = error.code, str(error)
            trace.set_unsent_arguments(arguments)
            raise
        except asyncio.CancelledError:
            raise
        except Exception as error:
            outcome, error_text = "crash", f"{type(error).__name__}: {error}"
            raise
        else:
            return result
        finally:
            trace.end(tool, outcome, result, None if breach is None else str(breach)[:_LONGEST], error_text)

    async def request(
        self, feature: Tool, method: str, params: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Send a request for a prompt or a resource to its server, under the same rules and records as a call."""
        trace = CallTrace(self._recorder, feature, context)
        trace.set_unsent_arguments(params)
        result: Result | None = None
        outcome, error_text = "cancelled", None

        async def admit() -> None:
            self.policy.admit_feature(feature, self._snapshot())

        try:
            await admit()
            source = self._servers[feature.server]
            raw = await source.request(method, params, context, repeatable=True, admit=admit)
            result, outcome = Result(structured_content=raw, has_structured_content=True), "ok"
        except HalflapError as error:
            outcome, error_text = error.code, str(error)
            raise
        else:
            return raw
        finally:
            trace.end(feature, outcome, result, None, error_text)

    @contextmanager
    def finding(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Iterator[None]:
        """Record a call whose tool is not found within this block."""
        trace = CallTrace(self._recorder, _not_found(name), context)
        try:
            yield
        except BaseException as error:
            outcome, tool = "crash", _not_found(name)
            if isinstance(error, HalflapError):
                outcome = error.code
            elif isinstance(error, asyncio.CancelledError):
                outcome = "cancelled"
            if isinstance(error, ToolNotFoundError) and error.server is not None:
                tool = _not_found(name, error.server)
            trace.set_unsent_arguments(arguments)
            trace.end(tool, outcome, None, None, str(error) or None)
            raise

    def _authorize(self, tool: Tool, snapshot: Snapshot, context: CallContext) -> None:
        """Raise if the tool must not be called, in general or by this caller."""
        self.policy.admit(tool, snapshot)
        if context.rule is not None:
            context.rule(tool)


def _not_found(name: str, server: str | None = None) -> Tool:
    """Return a placeholder for the record of a call whose tool does not exist."""
    if server is None:
        server = next((own for own in OWN if name.startswith(namespaced(own, ""))), "")
    original = name.removeprefix(namespaced(server, "")) if server else name
    return Tool(name, server, original[:_LONGEST], "", {})
