"""Agree with a server on a protocol version, in either era."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from halflap.upstream.connection import LOST, NOT_SENT, REFUSED

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

__all__ = ["agree_on_version"]

_PROBE_SECONDS = 3.0
"""How long a server may take to answer `server/discover` before `initialize` is tried as well.

Some servers of the older era do not answer a method that they don't know. A slow one of the newer era answers
`initialize` with an error that names the versions it speaks.
"""


async def agree_on_version(
    session: ClientSession, protocol: Literal["auto", "legacy", "modern"], last_version: str | None
) -> None:
    """Settle the version, trying the era of `last_version` first: the one the server spoke last time."""
    if protocol == "modern":
        await session.discover()
        return
    if protocol == "auto" and last_version not in HANDSHAKE_PROTOCOL_VERSIONS and await _probe(session):
        return
    try:
        await session.initialize()
    except MCPError as error:
        if protocol == "legacy" or error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
            raise
        await session.discover()


async def _probe(session: ClientSession) -> bool:
    """Return whether the server speaks the newer era in a version that we know, and settle on it if so."""
    try:
        with anyio.move_on_after(_PROBE_SECONDS):
            await session.discover()
            return True
    except MCPError as error:
        if error.code in {NOT_SENT, LOST, REFUSED}:
            raise
    except (ValidationError, RuntimeError):
        # Not an answer to `server/discover`, or one with other versions only.
        pass
    return False
