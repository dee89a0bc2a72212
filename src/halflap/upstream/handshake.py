"""Agree with a server on a protocol version, in either era."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from halflap.upstream.wire import LOST, NOT_SENT, REFUSED

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

__all__ = ["agree"]

_PROBE_SECONDS = 3.0
"""How long a server may take to answer the probe before it is greeted in the older way as well.

Some servers of the older era say nothing at all to a method that they don't know; a slow one of the
newer era answers the second greeting by naming the versions it speaks.
"""

_FATAL = frozenset({NOT_SENT, LOST, REFUSED})


async def agree(
    session: ClientSession, wanted: Literal["auto", "legacy", "modern"], remembered: str | None
) -> None:
    """Settle the version. `remembered` is what this server spoke last time: it is tried first."""
    if wanted == "modern":
        await session.discover()
        return
    if wanted == "legacy":
        await session.initialize()
        return
    if remembered in HANDSHAKE_PROTOCOL_VERSIONS:
        version = None
    else:
        version = await _probe(session, LATEST_MODERN_VERSION)
        if session.protocol_version is not None:
            return
    if version is None:
        try:
            await session.initialize()
        except MCPError as error:
            version = _offered(error)
            if version is None:
                raise
        else:
            return
    result = types.DiscoverResult.model_validate(await session.send_discover(version))
    session.adopt(result)


async def _probe(session: ClientSession, version: str) -> str | None:
    """Ask in the newer way. Adopts the answer, or names the version to ask again with, or neither."""
    try:
        with anyio.move_on_after(_PROBE_SECONDS) as scope:
            raw = await session.send_discover(version)
        if scope.cancelled_caught:
            return None
        result = types.DiscoverResult.model_validate(raw)
    except MCPError as error:
        if error.code in _FATAL:
            raise
        return _offered(error)
    except ValidationError:
        return None
    if any(known in result.supported_versions for known in MODERN_PROTOCOL_VERSIONS):
        session.adopt(result)
    return None


def _offered(error: MCPError) -> str | None:
    """Read which version of the newer era the server offers in its refusal, if we speak one of them."""
    if error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
        return None
    try:
        supported = types.UnsupportedProtocolVersionErrorData.model_validate(error.error.data).supported
    except ValidationError:
        return None
    return next((known for known in reversed(MODERN_PROTOCOL_VERSIONS) if known in supported), None)
