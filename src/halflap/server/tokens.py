"""Who sends a request: the principal, and the bearer token that proves it."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.core.errors import TokenFileError

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

PRINCIPAL = "halflap.principal"
"""The key of a request's scope that holds its principal."""


def bearer_token(header: bytes) -> bytes | None:
    """Return the token of an `Authorization` header; the scheme's case and the number of blanks don't matter."""
    scheme, *rest = header.split(maxsplit=1) or [b""]
    return rest[0].strip() if rest and scheme.lower() == b"bearer" else None


def principal_of_token(token: str) -> str:
    """Return the principal of a token's owner; it reveals nothing of the token."""
    return f"http:{sha256(b'Bearer ' + token.encode()).hexdigest()[:16]}"


def principal_of(context: ServerRequestContext[Any, Any]) -> str:
    """Return the principal: `local` over stdio, else the one whose token was sent."""
    scope = getattr(context.request, "scope", None)
    return "local" if scope is None else str(scope[PRINCIPAL])


class Tokens:
    """The tokens of all principals."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = {principal: token.encode() for principal, token in tokens.items()}

    def owner(self, token: bytes) -> str | None:
        # All are compared, so that the time it takes reveals nothing.
        found = [name for name, known in self._tokens.items() if secrets.compare_digest(token, known)]
        return found[0] if found else None

    def stamp(self, principal: str) -> str | None:
        """Return what changes when the principal's token does; None if it has none."""
        token = self._tokens.get(principal)
        return None if token is None else sha256(token).hexdigest()


def keep_token(folder: Path) -> tuple[str, Path, bool]:
    """Return the bearer token, its file, and whether it is new."""
    file = folder / "http_token"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = _make(file, secrets.token_urlsafe(32))
        token = file.read_text(encoding="ascii").strip()
        file.chmod(0o600)
    except OSError as error:
        raise TokenFileError(
            f"The token cannot be kept in {file}: {error.strerror}. Make that a file which you can read and write."
        ) from error
    except UnicodeDecodeError:
        token = ""
    if not token.isprintable() or not token:
        raise TokenFileError(f"{file} holds no token. Delete it: the next start makes another.")
    return token, file, made


def _make(file: Path, token: str) -> bool:
    """Write a token unless there is a file; of two processes that do so at once, one wins and both use the same."""
    if file.exists():
        return False
    with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=".http_token.") as temporary:
        temporary.write(token + "\n")
        temporary.flush()
        try:
            os.link(temporary.name, file)
        except FileExistsError:
            return False
    return True
