"""One call of a tool: authorize, validate, record, send, record."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from halflap.calls.recorder import Recorder, new_id
from halflap.calls.validation import Validators, aside
from halflap.catalog import View, namespaced
from halflap.core.errors import HalflapError, ToolFailedError, ToolHeldError
from halflap.core.values import OWN, CallContext, Result, Tool
from halflap.schema import is_small
from halflap.store import SENT, TOOL_ERROR, CallRecord

if TYPE_CHECKING:
    from halflap.calls.policy import Policy
    from halflap.catalog import Catalog, Servers, Snapshot
    from halflap.catalog.view import Seen
    from halflap.config import Profile

__all__ = ["Calls", "Observe"]

_MAX_NAME = _MAX_BREACH = 500


Observe = Callable[[Tool, CallRecord], None]
"""Receives every answered call with its values, and the tool as defined when the call was sent. It runs before the call
returns, so it must neither block nor fail."""


class CallTrace:
    """Records one call. Leaving its `with` block records the outcome, whatever it is."""

    def __init__(
        self,
        recorder: Recorder,
        tool: Tool,
        arguments: Mapping[str, Any],
        context: CallContext,
        observe: Observe | None = None,
    ) -> None:
        self.tool = tool
        """The current definition."""
        self.breach: str | None = None
        self.is_committed = False
        self._recorder, self._context, self._observe = recorder, context, observe
        self._id = new_id() + context.mark
        self._started_at, self._began = time.time(), time.perf_counter()
        self._given, self._outcome = arguments, "ok"
        self._arguments: str | None = None
        self._result: str | None = None

    async def set_arguments(self, arguments: dict[str, Any]) -> None:
        """Set the arguments as they are sent."""
        self._arguments = await aside(lambda: _json(arguments), arguments)

    async def set_result(self, result: Result) -> None:
        self._outcome = TOOL_ERROR if result.is_error else "ok"
        wire = result.to_wire()
        self._result = await aside(lambda: json.dumps(wire, ensure_ascii=False, default=str), wire)

    async def commit(self) -> None:
        """Write to disk that the call will be sent."""
        self.is_committed = True
        await self._recorder.commit(self._record(SENT), self._recorder.level(self.tool))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, HalflapError):
            self._end(error.code, str(error))
        elif isinstance(error, asyncio.CancelledError):
            self._end("cancelled", None)
        elif error is not None:
            self._end("crash", f"{type(error).__name__}: {error}")
        else:
            self._end(self._outcome, None)

    def _end(self, outcome: str, error: str | None) -> None:
        if self._arguments is None and is_small(self._given):
            # Not sent, hence not validated.
            with suppress(TypeError, ValueError, RecursionError):
                self._arguments = _json(dict(self._given))
        ended = replace(
            self._record(outcome),
            duration_ms=(time.perf_counter() - self._began) * 1000,
            result=self._result,
            breach=self.breach,
            error=error,
        )
        if self._observe is not None and self._result is not None:
            self._observe(self.tool, ended)
        self._recorder.add(ended, self._recorder.level(self.tool))

    def _record(self, outcome: str) -> CallRecord:
        return CallRecord(
            id=self._id,
            run=self._context.run,
            parent=self._context.parent,
            principal=self._context.principal,
            server=self.tool.server,
            tool=self.tool.original_name,
            definition_hash=self.tool.hash,
            started_at=self._started_at,
            outcome=outcome,
            arguments=self._arguments,
            line=self._context.line,
        )


def _json(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, allow_nan=False, ensure_ascii=False)


class Calls:
    """Every call of every face goes through `call`."""

    def __init__(
        self,
        catalog: Catalog,
        pool: Servers,
        policy: Policy,
        recorder: Recorder,
        observe: Observe | None = None,
    ) -> None:
        self.policy = policy
        self.validators = Validators(recorder)
        self._catalog = catalog
        self._pool = pool
        self._recorder = recorder
        self._observe = observe
        self._views: dict[Profile, View] = {}

    def seen_by(self, principal: str) -> Seen:
        """Return the part of the catalogue that exists for a principal."""
        profile = self.policy.profile_of(principal)
        return self._catalog if profile is None else self.view(profile)

    def view(self, profile: Profile) -> View:
        if profile not in self._views:
            self._views[profile] = View(
                self._catalog,
                shows=partial(self.policy.shows, profile=profile),
                serves=partial(self.policy.serves, profile=profile),
            )
        return self._views[profile]

    async def call(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> Result:
        """Call a tool by its namespaced name."""
        context = context or CallContext()
        try:
            tool = await self.seen_by(context.principal).find(name)
        except BaseException as error:
            # Recorded like any other call.
            with CallTrace(self._recorder, _not_found(name, error), arguments, context):
                raise
        try:
            return await self._call(tool, arguments, context)
        except ToolHeldError:
            # `halflap trust` in another process may have accepted the change meanwhile.
            await self._catalog.load()
            if name in self._catalog.snapshot.held:
                raise
            return await self._call(tool, arguments, context)

    async def _call(self, tool: Tool, arguments: Mapping[str, Any], context: CallContext) -> Result:
        is_resumable = bool(context.mark)
        with CallTrace(self._recorder, tool, arguments, context, self._observe) as trace:
            # Mark and line belong to this call, not to calls made within it.
            context = replace(context, mark="", line=None)
            self._authorize(tool, self._catalog.snapshot, context)
            sent = await self.validators.sendable(tool, arguments)
            await trace.set_arguments(sent)

            async def admit() -> None:
                # Right before sending. The catalogue may have changed since the lookup, and again while the arguments
                # were validated or the call was committed.
                seen = None
                while seen is not self._catalog.snapshot:
                    seen = self._catalog.snapshot
                    trace.tool = seen.find(tool.name)
                    self._authorize(trace.tool, seen, context)
                    await self.validators.check_arguments(trace.tool, sent)
                    is_safe = self.policy.is_read_only(trace.tool) and not is_resumable
                    if (not is_safe or self._recorder.is_required) and not trace.is_committed:
                        await trace.commit()

            repeatable = self.policy.is_repeatable(tool)
            source = self._catalog.own.get(tool.server) or (await self._pool.get())[tool.server]
            try:
                result = await source.call(
                    tool.original_name, sent, context, repeatable=repeatable, admit=admit
                )
            except ToolFailedError as error:
                raise ToolFailedError(
                    tool.name, error.server, error.rpc_code, error.message, error.data
                ) from error
            await trace.set_result(result)
            breach = await self.validators.breach(trace.tool, result)
            if breach is not None:
                trace.breach = str(breach)[:_MAX_BREACH]
            return result

    def _authorize(self, tool: Tool, snapshot: Snapshot, context: CallContext) -> None:
        """Raise if the tool must not be called, at all or by this caller."""
        self.policy.admit(tool, snapshot, self.policy.profile_of(context.principal))
        if context.rule is not None:
            context.rule(tool)

    async def request(
        self, feature: Tool, method: str, params: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Request a prompt or a resource, with the same policy and records as for a call."""

        async def admit() -> None:
            profile = self.policy.profile_of(context.principal)
            self.policy.admit_feature(feature, self._catalog.snapshot, profile)

        with CallTrace(self._recorder, feature, params, context) as trace:
            await admit()
            if self._recorder.is_required:
                await trace.set_arguments(dict(params))
                await trace.commit()
            server = (await self._pool.get())[feature.server]
            raw = await server.request(method, params, context, repeatable=True, admit=admit)
            await trace.set_result(Result(structured_content=raw, has_structured_content=True))
            return raw


def _not_found(name: str, error: BaseException) -> Tool:
    """Return a placeholder for the record of a call whose tool does not exist."""
    server: str | None = getattr(error, "server", None)
    if server is None:
        server = next((own for own in OWN if name.startswith(namespaced(own, ""))), "")
    original = name.removeprefix(namespaced(server, "")) if server else name
    return Tool(name, server, original[:_MAX_NAME], "", {})
