"""Lint the tools of the configured servers, with what is on record about their results."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.errors import StoreError, UpstreamError, UsageError
from halflap.core.values import OWN, Result

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from halflap.catalog import Catalog
    from halflap.config import Config
    from halflap.core.values import Listing, Tool
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


class Linter:
    """Applies the lint rules to the tools of the configured servers."""

    def __init__(
        self, config: Config, store: Store, catalog: Catalog, pool: Lazy[Pool], learned: LearnedSchemas
    ) -> None:
        self._config = config
        self._store = store
        self._catalog = catalog
        self._pool = pool
        self._learned = learned

    async def lint(self, servers: Collection[str] = ()) -> Linted:
        """List the tools of these servers, or of all, and apply the rules."""
        from halflap.lint import lint  # noqa: PLC0415 -- see the top of `build`

        enabled = [one.name for one in self._config.servers if not one.disabled]
        for name in servers:
            if name not in enabled:
                known = ", ".join(enabled) or "none"
                raise UsageError(f"There is no server named {name!r}. There are: {known}.")
        wanted = [name for name in enabled if not servers or name in servers]
        listings, unavailable = await self._listings(wanted)
        tools = {name: self._catalog.snapshot.by_server.get(name, ()) for name in wanted if name not in OWN}
        evidence = await self._evidence([tool for own in tools.values() for tool in own])

        def work() -> tuple[Report, list[LintServer]]:
            read = [_read(name, tools[name], evidence, listings.get(name)) for name in tools]
            listed = [one for one in read if one.tools or one.name in listings]
            return lint(listed, self._config.lint), listed

        report, read = await asyncio.to_thread(work)
        warnings = {name: listing.warnings for name, listing in listings.items() if listing.warnings}
        return Linted(report, read, unavailable, warnings)

    async def _listings(self, names: Sequence[str]) -> tuple[dict[str, Listing], dict[str, str]]:
        pool = await self._pool.get()
        upstreams = [one for name in names if (one := pool.get(name)) is not None]
        answers = await asyncio.gather(*(one.list() for one in upstreams), return_exceptions=True)
        listings: dict[str, Listing] = {}
        unavailable: dict[str, str] = {}
        for one, answer in zip(upstreams, answers, strict=True):
            if isinstance(answer, UpstreamError):
                unavailable[one.name] = answer.reason
            elif isinstance(answer, BaseException):
                raise answer
            else:
                listings[one.name] = answer
        return listings, unavailable

    async def _evidence(self, tools: Sequence[Tool]) -> dict[str, Evidence]:
        """Return what is on record about each tool, by its name in the catalogue."""
        from halflap.lint import Breach, Evidence  # noqa: PLC0415 -- see the top of `build`

        known = await self._learned.of_all(tools)
        try:
            _, breaches = await self._learned.drift()
            calls = await self._store.small_results(_MAX_RESULT_BYTES, _MAX_RESULTS)
        except StoreError:
            breaches, calls = (), ()  # the report says what could not be judged
        broken: defaultdict[tuple[str, str, str], list[Breach]] = defaultdict(list)
        for one in breaches:
            key = (one.server, one.tool, one.definition_hash)
            broken[key].append(Breach(one.path, one.expected, one.times))
        recorded: defaultdict[tuple[str, str, str], list[CallRecord]] = defaultdict(list)
        for call in calls:
            recorded[call.server, call.tool, call.definition_hash].append(call)
        found: dict[str, Evidence] = {}
        for tool in tools:
            learned = known.get(tool.name)
            own = recorded[tool.server, tool.original_name, tool.hash]
            errors = await asyncio.to_thread(lambda: list(map(_unmarked_error, own)))  # noqa: B023 -- awaited here
            found[tool.name] = Evidence(
                observations=learned.observations if learned else 0,
                confidence=learned.confidence if learned else 0.0,
                type=learned.type if learned else None,
                schema=learned.schema if learned and learned.type is not None else None,
                breaches=tuple(broken[tool.server, tool.original_name, tool.schema_hash]),
                recorded=len(own),
                unmarked_errors=tuple(dict.fromkeys(filter(None, errors))),
            )
        return found


def _read(
    name: str, tools: Sequence[Tool], evidence: Mapping[str, Evidence], listing: Listing | None
) -> LintServer:
    """Read a server as it listed its tools just now, or as it last did."""
    from halflap.lint import LintServer, LintTool, server_of  # noqa: PLC0415 -- see the top of `build`

    if listing is None:
        return LintServer(name, tuple(LintTool(tool, evidence[tool.name]) for tool in tools))
    by_original = {tool.original_name: evidence[tool.name] for tool in tools}
    return server_of(name, [*listing.tools, *listing.again], by_original)


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
