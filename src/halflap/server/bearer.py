"""Read the header in which a client says who it is: in one way, for whoever lets it in and whoever tells it apart."""

from __future__ import annotations

from hashlib import sha256

__all__ = ["PRINCIPAL", "bearer_token", "principal_of_person", "principal_of_token"]

PRINCIPAL = "halflap.principal"
"""Where a request that was let in says for whom."""

_BLANK = b" \t"
_DIGITS = 16


def bearer_token(header: bytes) -> bytes | None:
    """Give the token of an `Authorization` header, however it is spelled; None if it has none.

    The scheme may be written large or small, and there may be more blanks than one around the token.
    """
    parts = header.strip(_BLANK).replace(b"\t", b" ").partition(b" ")
    token = parts[2].strip(_BLANK)
    return token if parts[0].lower() == b"bearer" and token else None


def principal_of_token(token: str) -> str:
    """Give the name under which the runs of whoever has the token are kept: it says nothing about the token."""
    return f"http:{sha256(b'Bearer ' + token.encode()).hexdigest()[:_DIGITS]}"


def principal_of_person(name: str) -> str:
    """Give the name under which a person's runs are kept, whatever their token is this month."""
    return f"person:{name}"
