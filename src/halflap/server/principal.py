"""Who sends a request: the principal, and the token that proves it."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

__all__ = ["PRINCIPAL", "bearer_token", "principal_of", "principal_of_person", "principal_of_token"]

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
