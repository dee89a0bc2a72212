"""Who sends a request: the principal, and the bearer token that proves it."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from halflap.config import token_hash
from halflap.core.errors import ServeError
from halflap.core.values import principal_of_person, principal_of_token

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from halflap.config import Config

PRINCIPAL = "halflap.principal"
"""The key of a request's scope that holds its principal."""


def bearer_token(header: bytes) -> bytes | None:
    """Return the token of an `Authorization` header; the scheme's case and the number of blanks don't matter."""
    scheme, *rest = header.split(maxsplit=1) or [b""]
    return rest[0].strip() if rest and scheme.lower() == b"bearer" else None


def principal_of(context: ServerRequestContext[Any, Any]) -> str:
    """Return the principal: `local` over stdio, else the one whose token was sent."""
    scope = getattr(context.request, "scope", None)
    return "local" if scope is None else str(scope[PRINCIPAL])


class Tokens:
    """The hashes of all tokens. They can be replaced at any time, which ends requests with a token that is gone."""

    def __init__(self, hashes: Mapping[str, str]) -> None:
        """Create it with a hash for each principal."""
        self._hashes = dict(hashes)
        self._open: dict[anyio.CancelScope, tuple[str, str | None]] = {}

    def replace(self, hashes: Mapping[str, str]) -> None:
        self._hashes = dict(hashes)
        for scope, (principal, stamp) in self._open.items():
            if self.stamp(principal) != stamp:
                scope.cancel()

    def owner(self, token: bytes) -> str | None:
        # Comparing hashes takes a time that says nothing about the token.
        given = token_hash(token)
        return next((principal for principal, known in self._hashes.items() if known == given), None)

    def stamp(self, principal: str) -> str | None:
        """Return what changes when the principal's token does; None if it has none."""
        return self._hashes.get(principal)

    @contextmanager
    def while_valid(self, principal: str) -> Iterator[None]:
        """Cancel the block once the principal's token is replaced or gone."""
        with anyio.CancelScope() as scope:
            self._open[scope] = principal, self.stamp(principal)
            try:
                yield
            finally:
                del self._open[scope]


def configured_tokens(config: Config) -> tuple[dict[str, str], str]:
    """Return each principal's hash, and what to tell about the tokens: those of people, or the one in the data folder."""
    if people := config.http.tokens:
        hashes = {principal_of_person(name): entry.digest for name, entry in people.items()}
        return hashes, f"Tokens are configured for: {', '.join(people)}"
    token, file, made = keep_token(config.data_dir)
    how = f"New bearer token, saved in {file}:\n  {token}" if made else f"The bearer token is in {file}"
    return {principal_of_token(token): token_hash(token)}, how


def keep_token(folder: Path) -> tuple[str, Path, bool]:
    """Return the bearer token, its file, and whether it is new."""
    file = folder / "http_token"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = _make(file, secrets.token_urlsafe(32))
        token = file.read_text(encoding="ascii").strip()
        file.chmod(0o600)
    except OSError as error:
        raise ServeError(
            f"The token cannot be kept in {file}: {error.strerror}. Make that a file which you can read and write.",
            code="token-file",
        ) from error
    except UnicodeDecodeError:
        token = ""
    if not token.isprintable() or not token:
        raise ServeError(
            f"{file} holds no token. Delete it: the next start makes another.", code="token-file"
        )
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
