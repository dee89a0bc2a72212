"""Credentials from sign-ins, one per server and principal: in the system's keyring, else in a file only its owner can read."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ConfigDict, ValidationError

from halflap.core.errors import SignInError
from halflap.core.files import read_limited, replacing
from halflap.core.values import person_of

if TYPE_CHECKING:
    from halflap.config import Config

__all__ = ["CredentialStore", "Credentials", "SignedIn", "credential_store"]

logger = logging.getLogger(__name__)

KEYRING_SECONDS = 3.0
"""A locked keyring may ask a person for a password and never answer."""
_LOCK_SECONDS = 60.0
_MAX_BYTES = 1024 * 1024
_SERVICE = "halflap"
_EARLY_SECONDS = 30.0
"""Tokens are renewed this long before they expire, so that they don't expire on the way."""


class SignedIn(BaseModel):
    """What may be shown about a sign-in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    principal: str
    issuer: str | None = None
    scope: str | None = None
    signed_in_at: float
    expires_at: float | None = None
    """When the access token expires; None if the server didn't say."""
    renews_itself: bool
    missing_scope: str | None = None
    """What the server asked for since, and wasn't granted."""

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and time.time() > self.expires_at - _EARLY_SECONDS

    def to_json(self) -> dict[str, Any]:
        """Return what `doctor`, `list` and `login` show. `person` is None for the owner of the gateway."""
        return {
            "person": person_of(self.principal),
            "issuer": self.issuer,
            "scope": self.scope,
            "missingScope": self.missing_scope,
            "signedInAt": _iso(self.signed_in_at),
            "expiresAt": None if self.expires_at is None else _iso(self.expires_at),
            "renewsItself": self.renews_itself,
        }


class Credentials(BaseModel):
    """The tokens of a sign-in, and what is needed to renew them."""

    model_config = ConfigDict(frozen=True)

    signed_in: SignedIn
    tokens: OAuthToken
    client: OAuthClientInformationFull
    metadata: OAuthMetadata | None = None
    """Of the authorization server."""
    resource: ProtectedResourceMetadata | None = None


class _File(BaseModel):
    """The file of a sign-in. It has no credentials if they are in the keyring."""

    signed_in: SignedIn
    credentials: Credentials | None = None


class CredentialStore:
    """Keeps credentials in a folder: a file for each, which has the tokens only where there is no keyring."""

    def __init__(self, folder: Path, *, use_keyring: bool = True) -> None:
        self._folder = folder
        self._use_keyring = use_keyring
        self._cache: dict[Path, tuple[tuple[int, int], Credentials]] = {}

    async def load(self, url: str, principal: str) -> Credentials | None:
        """Return the credentials; None if there are none, or they can't be read."""
        return await asyncio.to_thread(self._load, self._file(url, principal))

    async def save(self, credentials: Credentials) -> None:
        await asyncio.to_thread(self._save, credentials)

    async def remove(self, url: str, principal: str) -> None:
        await asyncio.to_thread(self._remove, self._file(url, principal))

    async def signed_in(self) -> list[SignedIn]:
        """Return every sign-in there is, without asking the keyring."""
        return await asyncio.to_thread(self._signed_in)

    @asynccontextmanager
    async def lock(self, url: str, principal: str) -> AsyncIterator[None]:
        """Hold a lock that other processes respect: a refresh token may be usable only once."""
        descriptor = await asyncio.to_thread(self._open_lock, self._file(url, principal).with_suffix(".lock"))
        try:
            with anyio.move_on_after(_LOCK_SECONDS) as waiting:
                while not _try_lock(descriptor):  # noqa: ASYNC110 -- other processes set no event here
                    await asyncio.sleep(0.05)
            if waiting.cancelled_caught:
                raise SignInError("Another process has been signing in to the same server for a minute.")
            yield
        finally:
            os.close(descriptor)

    def _file(self, url: str, principal: str) -> Path:
        key = sha256(f"{principal}\0{url}".encode()).hexdigest()[:32]
        return self._folder / f"{key}.json"

    def _open_lock(self, file: Path) -> int:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _signed_in(self) -> list[SignedIn]:
        return [found.signed_in for file in sorted(self._folder.glob("*.json")) if (found := _read(file))]

    def _load(self, file: Path) -> Credentials | None:
        try:
            status = file.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_ino)
        if (cached := self._cache.get(file)) and cached[0] == stamp:
            return cached[1]
        found = _read(file)
        credentials = None if found is None else found.credentials or _from_keyring(file.stem)
        # The keyring and the file are not written at once.
        if found is None or credentials is None or credentials.signed_in != found.signed_in:
            return None
        self._cache[file] = stamp, credentials
        return credentials

    def _save(self, credentials: Credentials) -> None:
        shown = credentials.signed_in
        file = self._file(shown.url, shown.principal)
        secret = credentials.model_dump_json(exclude_none=True)
        in_keyring = self._use_keyring and _ask_keyring(
            lambda keyring: keyring.set_password(_SERVICE, file.stem, secret) or True
        )
        document = _File(signed_in=shown, credentials=None if in_keyring else credentials)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(file) as writer:
                writer.write(document.model_dump_json(exclude_none=True).encode())
        except OSError as error:
            raise SignInError(f"The sign-in can't be kept in {self._folder}: {error.strerror}.") from error

    def _remove(self, file: Path) -> None:
        found = _read(file)
        if found is not None and found.credentials is None:
            _ask_keyring(lambda keyring: keyring.delete_password(_SERVICE, file.stem))
        with suppress(OSError):
            file.unlink()


def credential_store(config: Config) -> CredentialStore:
    return CredentialStore(config.data_dir / "sign-ins")


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _read(file: Path) -> _File | None:
    with suppress(OSError, ValidationError):
        return _File.model_validate_json(read_limited(file, _MAX_BYTES, regular=True)[0])
    return None


def _try_lock(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _from_keyring(key: str) -> Credentials | None:
    secret = _ask_keyring(lambda keyring: keyring.get_password(_SERVICE, key))
    with suppress(ValidationError):
        return Credentials.model_validate_json(secret or "")
    return None


def _ask_keyring(question: Callable[[Any], Any]) -> Any:
    """Ask the system's keyring; None if there is none, or it doesn't answer in time.

    In a daemon thread of its own: one that waits for a person must not keep the process from ending.
    """
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            import keyring  # noqa: PLC0415 -- it looks for backends, which takes long

            backend = keyring.get_keyring()
            answer.set_result(question(backend) if backend.priority > 0 else None)
        except Exception as error:  # noqa: BLE001 -- backends raise whatever their libraries do
            logger.info("The keyring can't be used: %s", error)
            answer.set_result(None)

    threading.Thread(target=ask, daemon=True).start()
    with suppress(TimeoutError):
        return answer.result(KEYRING_SECONDS)
    return None
