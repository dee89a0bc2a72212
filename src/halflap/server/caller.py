"""The client behind one call of one of our tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.core.values import CallContext
from halflap.server.confirm import Word, confirm
from halflap.server.principal import principal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp.server import ServerRequestContext

    from halflap.core.values import Forwarded, Result, Tool
    from halflap.server.passthrough.peer import Peer

__all__ = ["Caller"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom a call is made for, and who can be asked."""

    context: ServerRequestContext[Any, Any]
    peer: Peer
    forwarded: Forwarded
    on_result: Callable[[str, str, Result], None] | None = None
    """Gets the server, the principal and the result of a call that is passed on."""

    def on_behalf(self, word: Word, *, forwards: bool = False) -> CallContext:
        """Return the context of every call made on the client's behalf; `forwards` if there is only this one."""
        return CallContext(
            principal=principal_of(self.context),
            confirmations=word.confirmed,
            unconfirmed=word.unconfirmed,
            progress=self.peer.progress,
            client=self.peer,
            forwarded=self.forwarded if forwards else None,
        )

    def note(self, server: str, result: Result) -> None:
        """Take notice of a result that is passed on."""
        if self.on_result is not None:
            self.on_result(server, principal_of(self.context), result)

    async def confirm(self, tools: Sequence[Tool], code: str, *, saved: str = "") -> Word:
        """Ask the user whether a program may call these tools; `saved` is its name, if it is a DSPy program."""
        return await confirm(self.peer, tools, code, saved) if tools else Word()
