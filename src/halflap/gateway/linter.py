"""Lint the tools of the configured servers, with what is on record about their results."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.errors import ServerNotFoundError, StoreError, UpstreamError
from halflap.core.values import Listing, Result, Tool

if TYPE_CHECKING:
    from halflap.catalog import Catalog
    from halflap.config import Config
    from halflap.gateway.lazy import Lazy
    from halflap.gateway.learned import LearnedSchemas
    from halflap.lint import Evidence, LintServer, Report
    from halflap.store import CallRecord, Store
    from halflap.upstream import Pool

__all__ = ["Linted", "Linter"]

_MAX_RESULTS = 2_000
_MAX_RESULT_BYTES = 8_000
_ERROR = re.compile(r"\W{0,8}(\w+ ?)?(error|exception)\b", re.IGNORECASE)
"""The beginning of a text that reports an error; the linter only shows such a text, nothing depends on it."""


class Linted(NamedTuple):
    """The result of linting servers."""

    report: Report
    servers: Sequence[LintServer]
    unavailable: Mapping[str, str]
    """Servers that did not list their tools, and why; their last known tools are linted."""
    warnings: Mapping[str, Sequence[str]]
    """What was noticed while listing."""


@dataclass(frozen=True)
class Linter:
    """Applies the lint rules to the tools of the configured servers."""

    config: Config
    store: Store
    catalog: Catalog
    pool: Lazy[Pool]
    learned: LearnedSchemas

    async def lint(self, servers: Collection[str] = ()) -> Linted:
        """List the tools of these servers, or of all, and apply the rules."""
        from halflap.lint import LintServer, LintTool, lint, server_of  # noqa: PLC0415 -- see the top of `build`

        enabled = [one.name for one in self.config.servers if not one.disabled]
        if unknown := [name for name in servers if name not in enabled]:
            raise ServerNotFoundError(unknown[0], enabled)
        wanted = [name for name in enabled if not servers or name in servers]
        listings, unavailable = await self._listings(wanted)
        tools = {name: self.catalog.snapshot.by_server.get(name, ()) for name in wanted}
        evidence = await self._evidence([tool for own in tools.values() for tool in own])

        def work() -> tuple[Report, list[LintServer]]:
            read = []
            for name, own in tools.items():
                if (listing := listings.get(name)) is not None:
                    by_original = {tool.original_name: evidence[tool.name] for tool in own}
                    read.append(server_of(name, [*listing.tools, *listing.again], by_original))
                elif own:
                    read.append(LintServer(name, tuple(LintTool(tool, evidence[tool.name]) for tool in own)))
            return lint(read, self.config.lint), read

        report, read = await asyncio.to_thread(work)
        warnings = {name: listing.warnings for name, listing in listings.items() if listing.warnings}
        return Linted(report, read, unavailable, warnings)

    async def _listings(self, names: Sequence[str]) -> tuple[dict[str, Listing], dict[str, str]]:
        """List the tools of servers; also return those that could not be listed, and why."""
        pool = await self.pool.get()
        listings: dict[str, Listing] = {}
        unavailable: dict[str, str] = {}

        async def list_one(name: str) -> None:
            upstream = pool.get(name)
            assert upstream is not None
            try:
                listings[name] = await upstream.list()
            except UpstreamError as error:
                unavailable[name] = error.reason

        await asyncio.gather(*map(list_one, names))
        return listings, unavailable

    async def _evidence(self, tools: Sequence[Tool]) -> dict[str, Evidence]:
        """Return what is on record about each tool, by its name in the catalogue."""
        from halflap.lint import Breach, Evidence  # noqa: PLC0415 -- see the top of `build`

        known = await self.learned.of_all(tools)
        try:
            _, breaches = await self.learned.drift()
            calls = await self.store.small_results(_MAX_RESULT_BYTES, _MAX_RESULTS)
        except StoreError:
            breaches, calls = (), ()  # the report says what could not be judged
        broken: defaultdict[tuple[str, str, str], list[Breach]] = defaultdict(list)
        for one in breaches:
            broken[one.server, one.tool, one.definition_hash].append(
                Breach(one.path, one.expected, one.times)
            )
        recorded: defaultdict[tuple[str, str, str], list[CallRecord]] = defaultdict(list)
        for call in calls:
            recorded[call.server, call.tool, call.definition_hash].append(call)

        def evidence(tool: Tool) -> Evidence:
            learned = known.get(tool.name)
            own = recorded[tool.server, tool.original_name, tool.hash]
            return Evidence(
                observations=learned.observations if learned else 0,
                confidence=learned.confidence if learned else 0.0,
                type=learned.type if learned else None,
                schema=learned.schema if learned and learned.type is not None else None,
                breaches=tuple(broken[tool.server, tool.original_name, tool.schema_hash]),
                recorded=len(own),
                unmarked_errors=tuple(dict.fromkeys(filter(None, map(_unmarked_error, own)))),
            )

        return await asyncio.to_thread(lambda: {tool.name: evidence(tool) for tool in tools})


def _unmarked_error(call: CallRecord) -> str | None:
    """Return the text by which a result reports an error although it is not marked as one."""
    try:
        raw = json.loads(call.result or "")
        result = Result.from_wire(raw) if isinstance(raw, dict) else Result(is_error=True)
        value: Any = result.structured_content if result.structured_content is not None else result.text
        if isinstance(value, str) and value[:1] in {"{", "["}:
            value = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and list(value) == ["result"]:
        value = value["result"]
    if isinstance(value, dict) and list(value) == ["error"]:
        value = f"error: {value['error']}"
    is_error = isinstance(value, str) and _ERROR.match(value) is not None
    return value if is_error and not result.is_error else None
