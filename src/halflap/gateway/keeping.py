"""Where a gateway keeps what it knows: opened, or gone without."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from halflap.core.errors import StoreBrokenError, StoreError, StoreTooNewError, ToolHeldError

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.store import Store

__all__ = ["drop_values", "open_kept"]

logger = logging.getLogger(__name__)


async def open_kept(config: Config) -> tuple[Store, str | None]:
    """Open the store; where it cannot be, one in memory, and why."""
    from halflap.store import open_store  # noqa: PLC0415 -- see the top of `parts`

    configured = config.store
    place = configured.url or configured.path or config.data_dir / "halflap.db"
    try:
        return await open_store(place), None
    except (StoreTooNewError, ToolHeldError, StoreBrokenError):
        raise
    except StoreError as error:
        # A home that cannot be written to is no reason to do without one's tools.
        logger.warning("%s Going on in memory: the next start will not remember this one.", error)
        return await open_store(None), str(error)


async def drop_values(store: Store) -> None:
    """Where values are not to be kept, those that were kept before are not, either."""
    try:
        dropped = await store.drop_values()
    except StoreError as error:
        # They are not shown, either way.
        logger.warning("Values that were learned before could not be taken out: %s", error)
        return
    if dropped:
        logger.info("Values that were learned while `learning.values` was on were taken out.")
