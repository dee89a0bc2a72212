"""Lint running servers, with what is on record about the results of their tools."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.errors import ServerNotFoundError, StoreError, UpstreamError
from halflap.lint.definitions import server_of
from halflap.lint.evidence import evidence_of
from halflap.lint.linter import lint
from halflap.lint.server import LintServer, LintTool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from halflap.catalog import Catalog
    from halflap.config import Config
    from halflap.core.values import Listing, Tool
    from halflap.lint.report import Report
    from halflap.lint.server import Evidence
    from halflap.observe import Known
    from halflap.store import Breach, Store
    from halflap.upstream import Pool

__all__ = ["Linted", "Linter"]

_MAX_RESULTS = 2_000
_MAX_RESULT_BYTES = 8_000


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
    pool: Callable[[], Awaitable[Pool]]
    known: Callable[[Iterable[Tool]], Awaitable[Mapping[str, Known]]]
    """Returns what was learned of tools, by name."""
    breaches: Callable[[], Awaitable[Sequence[Breach]]]

    async def lint(self, servers: Collection[str] = ()) -> Linted:
        """List the tools of these servers, or of all, and apply the rules."""
        enabled = [one.name for one in self.config.servers if not one.disabled]
        if unknown := [name for name in servers if name not in enabled]:
            raise ServerNotFoundError(unknown[0], enabled)
        wanted = [name for name in enabled if not servers or name in servers]
        listings: dict[str, Listing] = {}
        unavailable: dict[str, str] = {}

        async def list_one(name: str) -> None:
            try:
                listings[name] = await (await self.pool())[name].list()
            except UpstreamError as error:
                unavailable[name] = error.reason

        await asyncio.gather(*map(list_one, wanted))
        tools = {name: self.catalog.snapshot.by_server.get(name, ()) for name in wanted}
        evidence = await self._evidence([tool for own in tools.values() for tool in own])

        def work() -> tuple[Report, list[LintServer]]:
            read = []
            for name, own in tools.items():
                if (listing := listings.get(name)) is not None:
                    by_original = {tool.original_name: evidence[tool.name] for tool in own}
                    read.append(server_of(name, [*listing.tools, *listing.repeated], by_original))
                elif own:
                    read.append(LintServer(name, tuple(LintTool(tool, evidence[tool.name]) for tool in own)))
            return lint(read, self.config.lint), read

        report, read = await asyncio.to_thread(work)
        warnings = {name: listing.warnings for name, listing in listings.items() if listing.warnings}
        return Linted(report, read, unavailable, warnings)

    async def _evidence(self, tools: Sequence[Tool]) -> dict[str, Evidence]:
        known = await self.known(tools)
        try:
            breaches = await self.breaches()
            calls = await self.store.small_results(_MAX_RESULT_BYTES, _MAX_RESULTS)
        except StoreError:
            breaches, calls = (), ()  # the report says what could not be judged
        return await asyncio.to_thread(evidence_of, tools, known, breaches, calls)
