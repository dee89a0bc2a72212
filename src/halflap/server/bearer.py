"""Read the header in which a client says who it is: in one way, for whoever lets it in and whoever tells it apart."""

from __future__ import annotations

from hashlib import sha256

__all__ = ["bearer_token", "principal_of_header"]

_BLANK = b" \t"
_DIGITS = 16


def bearer_token(header: bytes) -> bytes | None:
    """Give the token of an `Authorization` header, however it is spelled; None if it has none.

    The scheme may be written large or small, and there may be more blanks than one around the token.
    """
    parts = header.strip(_BLANK).replace(b"\t", b" ").partition(b" ")
    token = parts[2].strip(_BLANK)
    return token if parts[0].lower() == b"bearer" and token else None


def principal_of_header(header: str) -> str:
    """Give the name under which the runs of a client are kept.

    It is made of the token's hash: what is compared, in however much time, says nothing about the token.
    """
    raw = header.encode("latin-1", errors="replace")
    token = bearer_token(raw)
    known = raw if token is None else b"Bearer " + token
    return f"http:{sha256(known).hexdigest()[:_DIGITS]}"
