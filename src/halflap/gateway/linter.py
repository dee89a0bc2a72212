"""Lint the tools of the configured servers, with what is on record of their results."""

from __future__ import annotations

import asyncio
import json
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
    from halflap.lint import Report, Seen, Server
    from halflap.observe import Known
    from halflap.store import Breach, CallRecord, Store
    from halflap.upstream import Pool

__all__ = ["Linted", "Linter"]

_MOST_RESULTS = 2_000
_LONGEST_RESULT = 8_000
_MOST_FAILURES = 3


class Linted(NamedTuple):
    """What linting servers came to."""

    report: Report
    servers: Sequence[Server]
    unavailable: Mapping[str, str]
    """Servers that could not be asked for their tools, and why; of these, what was listed last is judged, if anything."""
    warnings: Mapping[str, Sequence[str]]
    """What was noticed when they listed their tools."""


class Linter:
    """Applies the linter's rules to the tools of the configured servers."""

    def __init__(
        self, config: Config, store: Store, catalog: Catalog, pool: Lazy[Pool], learned: LearnedSchemas
    ) -> None:
        self._config = config
        self._store = store
        self._catalog = catalog
        self._pool = pool
        self._learned = learned

    async def lint(self, servers: Collection[str] = ()) -> Linted:
        """List the tools of these servers, or all, and apply the rules; other servers count as listed last."""
        enabled = [one.name for one in self._config.servers if not one.disabled]
        for name in servers:
            if name not in enabled:
                known = ", ".join(enabled) or "none"
                raise UsageError(f"There is no server named {name!r}. There are: {known}.")
        wanted = [name for name in enabled if not servers or name in servers]
        listings, unavailable = await self._listed(wanted)
        by_server = self._catalog.snapshot.by_server
        by_server = {name: tools for name, tools in by_server.items() if name not in OWN}
        seen = await self._seen([tool for tools in by_server.values() for tool in tools])
        from halflap.lint import lint  # noqa: PLC0415 -- see the top of `build`

        def work() -> tuple[Report, list[Server]]:
            read = [
                _read(name, by_server.get(name, ()), seen, listings.get(name))
                for name in dict.fromkeys((*wanted, *by_server))
            ]
            listed = [one for one in read if one.entries or one.name in listings]
            return lint(listed, self._config.lint, only=wanted), listed

        report, read = await asyncio.to_thread(work)
        warnings = {name: listing.warnings for name, listing in listings.items() if listing.warnings}
        return Linted(report, [one for one in read if one.name in wanted], unavailable, warnings)

    async def _listed(self, names: Sequence[str]) -> tuple[dict[str, Listing], dict[str, str]]:
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

    async def _seen(self, tools: Sequence[Tool]) -> dict[str, Seen]:
        """Return what is on record of tools: what was learned, what was broken, failures reported as text."""
        known = await self._learned.of_all(tools)
        try:
            _, breaches = await self._learned.drift()
            calls = await self._store.small_results(_LONGEST_RESULT, _MOST_RESULTS)
        except StoreError:
            # The report lists what could not be judged.
            breaches, calls = (), ()
        return await asyncio.to_thread(_seen_of, tools, known, breaches, calls)


def _read(name: str, tools: Sequence[Tool], seen: Mapping[str, Seen], listing: Listing | None) -> Server:
    """Read a server as it listed its tools now, those of a name that is there already too."""
    from halflap.lint import listed_again, read_server  # noqa: PLC0415 -- see the top of `build`

    if listing is None:
        return read_server(name, tools, seen)
    raw = {str(one["name"]): one for one in listing.tools}
    definitions = {tool.name: raw[tool.original_name] for tool in tools if tool.original_name in raw}
    again = listed_again(name, tools, listing.again)
    return read_server(
        name,
        [*tools, *(tool for tool, _ in again)],
        seen,
        duplicates=listing.repeated,
        definitions={**definitions, **{tool.name: definition for tool, definition in again}},
    )


def _seen_of(
    tools: Sequence[Tool],
    known: Mapping[str, Known],
    breaches: Sequence[Breach],
    calls: Sequence[CallRecord],
) -> dict[str, Seen]:
    from halflap.lint import Breach as Broken  # noqa: PLC0415 -- see the top of `build`
    from halflap.lint import Seen  # noqa: PLC0415 -- as above

    told: dict[tuple[str, str, str], list[_Told]] = {}
    for call in calls:
        told.setdefault((call.server, call.tool, call.definition_hash), []).append(_told(call))
    broken: dict[tuple[str, str, str], list[Broken]] = {}
    for one in breaches:
        key = (one.server, one.tool, one.definition_hash)
        broken.setdefault(key, []).append(Broken(one.path, one.expected, one.times))
    seen = {}
    for tool in tools:
        key, learned = (tool.server, tool.original_name, tool.hash), known.get(tool.name)
        results = told.get(key, ())
        failures = tuple(dict.fromkeys(one.failure for one in results if one.failure is not None))
        is_said = learned is not None and learned.type is not None
        seen[tool.name] = Seen(
            observations=0 if learned is None else learned.observations,
            confidence=0.0 if learned is None else learned.confidence,
            type=None if learned is None else learned.type,
            schema=learned.schema if learned is not None and is_said else None,
            breaches=tuple(broken.get((*key[:2], tool.schema_hash), ())),
            calls=len(results),
            failures=failures[:_MOST_FAILURES],
            failed_texts=sum(one.is_text and one.failure is not None for one in results),
            texts=sum(one.is_text and one.failure is None for one in results),
            observed_texts=0 if learned is None else _texts_in(learned),
        )
    return seen


def _texts_in(known: Known) -> int:
    tallies = (shape.root.kinds.get("string") for shape in (known.learned.structured, known.learned.text))
    return sum(one.times for one in tallies if one is not None)


class _Told(NamedTuple):
    """What a recorded result is, as far as the linter asks."""

    failure: str | None
    """The text by which it tells of a failure, though it is not marked as one."""
    is_text: bool
    """Whether it is a text, and no more."""


_NOTHING = _Told(None, is_text=False)


def _told(call: CallRecord) -> _Told:
    from halflap.lint import tells_of_failure  # noqa: PLC0415 -- see the top of `build`

    try:
        raw = json.loads(call.result or "")
        result = Result.from_wire(raw) if isinstance(raw, dict) else Result(is_error=True)
    except (ValueError, RecursionError):
        return _NOTHING
    if result.is_error:
        return _NOTHING
    value: Any = result.structured_content
    if value is None:
        try:
            value = json.loads(result.text)
        except (ValueError, RecursionError):
            value = result.text
    if isinstance(value, dict) and list(value) == ["result"]:
        value = value["result"]
    if isinstance(value, dict):
        error = value.get("error")
        # One that says `success: false` beside it can be branched on.
        says = list(value) == ["error"] and isinstance(error, str)
        return _Told(error if says else None, is_text=False)
    text = value if isinstance(value, str) else result.text
    return _Told(text if tells_of_failure(text) else None, is_text=isinstance(value, str))
