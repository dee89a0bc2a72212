"""One call of a tool: authorize, validate, record, send, record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.calls.trace import CallTrace, Observe
from halflap.calls.validation import Breaches, Validators
from halflap.catalog import namespaced
from halflap.core.errors import ToolFailedError
from halflap.core.values import OWN, CallContext, RequestSource, Result, Tool, ToolSource

if TYPE_CHECKING:
    from halflap.calls.policy import Policy
    from halflap.calls.recorder import Recorder
    from halflap.catalog import Snapshot

__all__ = ["Calls"]

_MAX_NAME = 500


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

    def authorize(self, tool: Tool, snapshot: Snapshot, context: CallContext) -> None:
        """Raise if the tool must not be called, in general or by this caller."""
        self.policy.admit(tool, snapshot)
        if context.rule is not None:
            context.rule(tool)

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
        """Call a tool by its namespaced name."""
        snapshot = self._snapshot()
        with self.finding(name, arguments, context):
            tool = snapshot.find(name)
        is_resumable = bool(context.mark)
        with CallTrace(self._recorder, tool, arguments, context, self._observe) as trace:
            # Calls nested in this one have identifiers of their own.
            context = replace(context, mark="") if is_resumable else context
            self.authorize(tool, snapshot, context)
            sent = await self.validators.sendable(tool, arguments)
            sent = await self.validators.without_nulls(tool, sent)
            await trace.set_arguments(sent)

            async def admit() -> None:
                # Right before sending. The catalogue may have changed since the lookup, and again while arguments
                # were validated or the call was written down.
                seen = None
                while seen is not self._snapshot():
                    seen = self._snapshot()
                    trace.tool = seen.find(name)
                    self.authorize(trace.tool, seen, context)
                    await self.validators.check_arguments(trace.tool, sent)
                    is_safe = self.policy.is_read_only(trace.tool) and not is_resumable
                    if (not is_safe or self._recorder.is_required) and not trace.is_committed:
                        await trace.commit()

            repeatable = self.policy.is_repeatable(tool)
            try:
                source = self._sources[tool.server]
                result = await source.call(
                    tool.original_name, sent, context, repeatable=repeatable, admit=admit
                )
            except ToolFailedError as error:
                raise ToolFailedError(
                    name, error.server, error.rpc_code, error.message, error.data
                ) from error
            await trace.set_result(result)
            breach = await self.validators.breach(trace.tool, result)
            if breach is not None:
                trace.set_breach(breach)
                self.breaches.note(trace.tool, breach)
            return result

    async def request(
        self, feature: Tool, method: str, params: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Send a request for a prompt or a resource to its server, under the same rules and records as a call."""

        async def admit() -> None:
            self.policy.admit_feature(feature, self._snapshot())

        with CallTrace(self._recorder, feature, params, context) as trace:
            await admit()
            if self._recorder.is_required:
                await trace.set_arguments(dict(params))
                await trace.commit()
            source = self._servers[feature.server]
            raw = await source.request(method, params, context, repeatable=True, admit=admit)
            await trace.set_result(Result(structured_content=raw, has_structured_content=True))
            return raw

    @contextmanager
    def finding(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Iterator[None]:
        """Record a call whose tool is not found within this block."""
        try:
            yield
        except BaseException as error:
            tool = _not_found(name, getattr(error, "server", None))
            with CallTrace(self._recorder, tool, arguments, context):
                raise


def _not_found(name: str, server: str | None) -> Tool:
    """Return a placeholder for the record of a call whose tool does not exist."""
    if server is None:
        server = next((own for own in OWN if name.startswith(namespaced(own, ""))), "")
    original = name.removeprefix(namespaced(server, "")) if server else name
    return Tool(name, server, original[:_MAX_NAME], "", {})
