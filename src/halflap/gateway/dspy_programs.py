"""Open the saved DSPy programs of a gateway; imported only when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.catalog import namespaced
from halflap.dspy.library import Library
from halflap.dspy.runtime import Runtime
from halflap.dspy.source import DspyPrograms

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from halflap.calls import Policy, Recorder
    from halflap.catalog import Snapshot
    from halflap.config import Config
    from halflap.core.values import CallContext, Listing, Result, Tool

__all__ = ["open_programs"]


def open_programs(
    config: Config,
    *,
    call: Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]],
    snapshot: Callable[[], Snapshot],
    absorb: Callable[[Listing], Awaitable[None]],
    settle: Callable[[], Awaitable[None]],
    unavailable: Callable[[], Mapping[str, str]],
    policy: Policy,
    recorder: Recorder,
) -> DspyPrograms:
    """Open the programs of the configured folder, or those that ship with Halflap."""

    def tool(name: str) -> Tool | None:
        return snapshot().tools.get(name)

    def absence(name: str) -> str | None:
        return None if name in snapshot().tools else _why_absent(name, config, snapshot(), unavailable())

    async def keep_out(_listing: Listing) -> None:
        """Leave the catalogue as it is."""

    return DspyPrograms(
        Library(config.programs.root),
        lambda made: Runtime(config.programs, call=made, tool=tool, data_dir=config.data_dir),
        call=call,
        absorb=absorb if config.uses_programs else keep_out,
        settle=settle,
        absence=absence,
        policy=policy,
        execution=config.execution,
        recorder=recorder,
        watch=config.programs.watch,
    )


def _why_absent(tool: str, config: Config, snapshot: Snapshot, unavailable: Mapping[str, str]) -> str:
    """Return why a tool is not available: its server may be off, unreachable, or not listed yet."""
    fitting = [one for one in config.servers if tool.startswith(namespaced(one.name, ""))]
    if not fitting:
        return "there is no server of that name" if tool.startswith("mcp__") else "there is none of that name"
    server = max(fitting, key=lambda one: len(one.name))
    if server.disabled:
        return f"the server {server.name} is off"
    if server.name in unavailable:
        return f"the server {server.name} cannot be asked: {unavailable[server.name].rstrip('.')}"
    if server.name in snapshot.servers:
        return f"the server {server.name} has no such tool"
    return f"the server {server.name} has not listed its tools yet"
