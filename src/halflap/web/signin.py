"""Sign-in: links that work once, and the sessions that they start.

Both are secrets, stored as files named by their hash in the private data folder. So a session outlives a restart, and
`halflap web` can create a link for a server that is already running.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from halflap.core.files import replacing

__all__ = ["LINK_PATH", "LOCAL", "Accounts", "Session", "SignIn"]

LOCAL = "local"
"""The principal of the machine's owner, who signs in with a link and sees everything that the command line shows."""
LINK_PATH = "/sign-in?link="
_LINK_SECONDS = 15 * 60
_SESSION_SECONDS = 30 * 86_400
_MAX_FILES = 200
"""Links and sessions that are kept; the oldest are deleted first."""
_CHECK_SECONDS = 10.0
"""How long a session is trusted without reading its file again."""
_SECRET_BYTES = 32
_MAX_SECRET = 200


class Accounts(Protocol):
    """The tokens and their owners."""

    def owner(self, token: bytes) -> str | None: ...

    def stamp(self, principal: str) -> str | None:
        """Return a value that changes with the principal's token; None without a token."""
        ...


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in visitor."""

    principal: str
    csrf: str
    """The token that forms must send back, derived from the secret in the cookie."""


class SignIn:
    """Creates and checks links and sessions. Its methods use files: call them in a thread."""

    def __init__(self, folder: Path, accounts: Accounts | None = None) -> None:
        self._links = _Secrets(folder / "links", _LINK_SECONDS)
        self._sessions = _Secrets(folder / "sessions", _SESSION_SECONDS)
        self._accounts = accounts
        self._known: dict[str, tuple[Session, float]] = {}

    def new_link(self, url: str) -> str:
        """Return a link that signs in the owner of this machine, once, at the server with this address."""
        # Bound to the port: another program that listens there learns nothing it could use elsewhere.
        return f"{url}{LINK_PATH}{self._links.add({'port': _port(url)})}"

    def follow_link(self, secret: str, port: int | None) -> str | None:
        """Use up a link, and return the secret of a new session; None if the link is not valid (any more)."""
        found = self._links.read(secret)
        if found is None or found.get("port") != port or not self._links.remove(secret):
            return None
        return self._sessions.add({"principal": LOCAL, "stamp": None})

    def with_token(self, token: str) -> str | None:
        """Return the secret of a new session for the owner of a bearer token."""
        principal = None if self._accounts is None else self._accounts.owner(token.encode(errors="replace"))
        if self._accounts is None or principal is None:
            return None
        return self._sessions.add({"principal": principal, "stamp": self._accounts.stamp(principal)})

    def find(self, secret: str) -> Session | None:
        """Return the session of a cookie."""
        known = self._known.get(secret)
        if known is not None and time.monotonic() - known[1] < _CHECK_SECONDS:
            return known[0]
        self._known.pop(secret, None)
        stored = self._sessions.read(secret)
        if stored is None or not self._is_current(stored):
            return None
        csrf = hmac.new(secret.encode(), b"csrf", sha256).hexdigest()
        session = Session(stored["principal"], csrf)
        if len(self._known) >= _MAX_FILES:
            self._known.clear()
        self._known[secret] = (session, time.monotonic())
        return session

    def _is_current(self, stored: dict[str, Any]) -> bool:
        """Return whether the token used to sign in is still valid."""
        principal, stamp = stored.get("principal"), stored.get("stamp")
        if principal == LOCAL:
            return stamp is None
        if self._accounts is None or not isinstance(principal, str) or stamp is None:
            return False
        return bool(self._accounts.stamp(principal) == stamp)

    def end(self, secret: str) -> None:
        """Sign out."""
        self._known.pop(secret, None)
        self._sessions.remove(secret)


def _port(url: str) -> int | None:
    port = url.rpartition(":")[2]
    return int(port) if port.isdecimal() else None


class _Secrets:
    """A folder with one file for each secret, named by its hash."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds

    def add(self, about: dict[str, Any]) -> str:
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._forget_old()
        with replacing(self._file(secret)) as file:
            file.write(json.dumps({**about, "until": time.time() + self._seconds}).encode())
        return secret

    def read(self, secret: str) -> dict[str, Any] | None:
        if not 0 < len(secret) <= _MAX_SECRET:
            return None
        try:
            found = json.loads(self._file(secret).read_bytes())
            is_valid = isinstance(found, dict) and time.time() < found["until"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if is_valid else None

    def remove(self, secret: str) -> bool:
        """Return whether it existed: of two concurrent callers, only one removes it."""
        try:
            self._file(secret).unlink()
        except OSError:
            return False
        return True

    def _forget_old(self) -> None:
        files = [(file.stat().st_mtime, file) for file in self._folder.iterdir()]
        files.sort(reverse=True)
        for at, (changed, file) in enumerate(files):
            if at >= _MAX_FILES - 1 or changed < time.time() - self._seconds:
                with suppress(OSError):
                    file.unlink()

    def _file(self, secret: str) -> Path:
        return self._folder / sha256(secret.encode(errors="replace")).hexdigest()
