"""Who is calling: the principal of a request, and the client behind one call."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.core.values import CallContext
from halflap.server.confirm import Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mcp_types as types
    from mcp.server import ServerRequestContext

    from halflap.core.values import Tool
    from halflap.server.confirm import Confirmations, Question

__all__ = ["PRINCIPAL", "Caller", "bearer_token", "principal_of", "principal_of_person", "principal_of_token"]

PRINCIPAL = "halflap.principal"
"""The key of a request's scope that holds its principal."""
_BLANKS = b" \t"
_DIGITS = 16


def bearer_token(header: bytes) -> bytes | None:
    """Return the token of an `Authorization` header; the scheme's case and the number of blanks don't matter."""
    scheme, _, rest = header.strip(_BLANKS).replace(b"\t", b" ").partition(b" ")
    token = rest.strip(_BLANKS)
    return token if scheme.lower() == b"bearer" and token else None


def principal_of_token(token: str) -> str:
    """Return the principal of a token's owner; it reveals nothing of the token."""
    return f"http:{sha256(b'Bearer ' + token.encode()).hexdigest()[:_DIGITS]}"


def principal_of_person(name: str) -> str:
    """Return the principal of a named person, which stays the same when their token changes."""
    return f"person:{name}"


def principal_of(context: ServerRequestContext[Any, Any]) -> str:
    """Return the principal: `local` over stdio, else the one whose token was sent."""
    scope = getattr(context.request, "scope", None)
    return "local" if scope is None else str(scope[PRINCIPAL])


@dataclass(frozen=True, slots=True)
class Caller:
    """The client behind one call of one of our tools."""

    context: ServerRequestContext[Any, Any]
    params: types.CallToolRequestParams
    confirmations: Confirmations

    def on_behalf(self, word: Word) -> CallContext:
        """Return the context of every call made on the client's behalf."""
        return CallContext(
            principal=principal_of(self.context),
            confirmations=word.confirmed,
            unconfirmed=word.unconfirmed,
            progress=self.context.session.report_progress,
        )

    async def confirm(self, tools: Sequence[Tool], code: str, *, saved: str = "") -> Word | Question:
        """Ask the user whether a program may call these tools; `saved` is its name, if it is a DSPy program."""
        if not tools:
            return Word()
        return await self.confirmations.ask(self.context, self.params, tools, code, saved)
