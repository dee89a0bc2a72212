"""What every command does first: read the configuration, and tell of what waits for a decision."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from halflap.cli.output import note
from halflap.config import load_config
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from halflap.config import Config

__all__ = ["opened", "read_config"]


def read_config(path: Path | None) -> Config:
    """Read the configuration; say on stderr what was noticed in it."""
    config = load_config(path)
    for warning in config.warnings:
        note(f"Note: {warning}")
    for file in config.pending:
        what = "is not trusted yet" if file.state == "new" else "changed since it was trusted"
        note(
            f"Note: {file.path.name} in this folder {what}; its servers are left out. Look at it: halflap trust"
        )
    return config


@asynccontextmanager
async def opened(config: Config) -> AsyncIterator[Gateway]:
    """Open the gateway; say on stderr if it cannot keep anything."""
    async with Gateway.open(config) as gateway:
        if gateway.store_trouble is not None:
            note(
                f"Note: {gateway.store_trouble} Going on in memory: the next run will not remember this one."
            )
        yield gateway
