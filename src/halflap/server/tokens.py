"""Bearer tokens, and the principals that they identify."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from halflap.config import token_hash
from halflap.core.errors import ServeError
from halflap.core.files import replacing
from halflap.core.values import principal_of_person, principal_of_token

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from halflap.config import Config

PRINCIPAL = "halflap.principal"
"""The key of the principal in the scope of an HTTP request."""


def bearer_token(header: bytes) -> bytes | None:
    """Return the token of an `Authorization` header, whatever the case of the scheme and the whitespace."""
    scheme, *rest = header.split(maxsplit=1) or [b""]
    return rest[0].strip() if rest and scheme.lower() == b"bearer" else None


def principal_of(context: ServerRequestContext[Any, Any]) -> str:
    """Return the owner of the request's token; over stdio it is `local`."""
    scope = getattr(context.request, "scope", None)
    return "local" if scope is None else str(scope[PRINCIPAL])


class Tokens:
    """The hashes of all valid tokens by principal. Replacing them cancels requests whose token is no longer valid."""

    def __init__(self, hashes: Mapping[str, str]) -> None:
        self._hashes = dict(hashes)
        self._open: dict[anyio.CancelScope, tuple[str, str | None]] = {}

    def replace(self, hashes: Mapping[str, str]) -> None:
        self._hashes = dict(hashes)
        for scope, (principal, stamp) in self._open.items():
            if self.stamp(principal) != stamp:
                scope.cancel()

    def owner(self, token: bytes) -> str | None:
        # Comparing hashes leaks nothing about the token by its timing.
        given = token_hash(token)
        return next((principal for principal, valid in self._hashes.items() if valid == given), None)

    def stamp(self, principal: str) -> str | None:
        """Return a value that changes with the principal's token; None without a token."""
        return self._hashes.get(principal)

    @contextmanager
    def while_valid(self, principal: str) -> Iterator[None]:
        """Cancel the block once the principal's token is replaced or removed."""
        with anyio.CancelScope() as scope:
            self._open[scope] = principal, self.stamp(principal)
            try:
                yield
            finally:
                del self._open[scope]


def configured_tokens(config: Config) -> tuple[dict[str, str], str]:
    """Return each principal's hash, and a message about the tokens: the configured ones, or the one in the data folder."""
    if people := config.http.tokens:
        hashes = {principal_of_person(name): entry.digest for name, entry in people.items()}
        return hashes, f"Tokens are configured for: {', '.join(people)}"
    token, file, is_new = stored_token(config.data_dir)
    message = f"New bearer token, saved in {file}:\n  {token}" if is_new else f"The bearer token is in {file}"
    return {principal_of_token(token): token_hash(token)}, message


def stored_token(folder: Path) -> tuple[str, Path, bool]:
    """Return the bearer token in this folder, its file, and whether it was created now."""
    file = folder / "http_token"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not file.exists()
        if is_new:
            with replacing(file) as new:
                new.write(secrets.token_urlsafe(32).encode() + b"\n")
        token = file.read_text(encoding="ascii").strip()
        file.chmod(0o600)
    except OSError as error:
        raise ServeError(
            f"The token file {file} can't be read or written: {error.strerror}. Check its permissions.",
            code="token-file",
        ) from error
    except UnicodeDecodeError:
        token = ""
    if not token.isprintable() or not token:
        raise ServeError(
            f"{file} contains no token. Delete it: the next start creates a new one.", code="token-file"
        )
    return token, file, is_new
