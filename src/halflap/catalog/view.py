"""The part of the catalogue that a profile shows. A hidden tool cannot be distinguished from one that does not exist."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from halflap.catalog.listing import namespaced
from halflap.catalog.snapshot import Snapshot
from halflap.core.errors import ToolNotFoundError
from halflap.core.values import OWN, Tool

if TYPE_CHECKING:
    from halflap.catalog.catalog import Catalog

    Seen: TypeAlias = "Catalog | View"
    """The whole catalogue, or the part that a profile shows."""


class View:
    """The read-only interface of a catalogue, restricted to some tools and servers."""

    def __init__(
        self, catalog: Catalog, shows: Callable[[Tool], bool], serves: Callable[[str], bool]
    ) -> None:
        self.serves = serves
        """Whether a server exists for this profile."""
        self._catalog = catalog
        self._shows = shows
        self._whole = Snapshot()
        self._snapshot = Snapshot()

    @property
    def snapshot(self) -> Snapshot:
        if self._whole is not self._catalog.snapshot:
            self._whole = self._catalog.snapshot
            self._snapshot = self._whole.only(self._shows, self.serves)
        return self._snapshot

    @property
    def configured(self) -> tuple[str, ...]:
        return tuple(filter(self.serves, self._catalog.configured))

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(filter(self.serves, self._catalog.servers))

    def unavailable(self) -> dict[str, str]:
        return {name: why for name, why in self._catalog.unavailable().items() if self.serves(name)}

    async def ensure_listed(self) -> None:
        await self._catalog.ensure_listed()

    async def find(self, name: str) -> Tool:
        if any(name.startswith(namespaced(server, "")) for server in (*self.configured, *OWN)):
            # This may list the server again. The suggestions in its error would reveal hidden tools.
            with suppress(ToolNotFoundError):
                await self._catalog.find(name)
        return self.known(name)

    def known(self, name: str) -> Tool:
        reasons = self._catalog.without_tools().items()
        return self.snapshot.find(
            name, self.configured, {server: why for server, why in reasons if self.serves(server)}
        )

    def is_stale(self, tool: Tool) -> bool:
        return self._catalog.is_stale(tool)
