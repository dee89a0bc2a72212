"""Store credentials: in a file that only its owner can read, with the secrets in the system's keyring if there is one."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from halflap.core.errors import SignInError
from halflap.core.files import read_limited, replacing
from halflap.core.values import person_of

if TYPE_CHECKING:
    from halflap.config import Config

logger = logging.getLogger(__name__)

KEYRING_SECONDS = 3.0
"""A locked keyring may ask a person for a password and never answer."""
_keyring_lock = threading.Lock()
_LOCK_SECONDS = 60.0
_MAX_BYTES = 1024 * 1024
_SERVICE = "halflap"
_EARLY_SECONDS = 30.0
"""Tokens are renewed this long before they expire, so that they don't expire in transit."""


class SignedIn(BaseModel):
    """A sign-in without its secrets."""

    model_config = ConfigDict(frozen=True)

    url: str
    principal: str
    issuer: str | None = None
    scope: str | None = None
    signed_in_at: float
    expires_at: float | None = None
    """When the access token expires; None if the server didn't say."""
    renews_itself: bool
    missing_scope: str | None = None
    """A permission that the server asked for later, and that the tokens lack."""

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


class Credentials(SignedIn):
    """A sign-in with its tokens, and everything needed to renew them."""

    tokens: OAuthToken = Field(repr=False)
    client: OAuthClientInformationFull = Field(repr=False)
    metadata: OAuthMetadata | None = None
    """Of the authorization server."""
    resource: ProtectedResourceMetadata | None = None

    @property
    def secrets(self) -> list[str]:
        """Values that must never be recorded or shown."""
        found = (self.tokens.access_token, self.tokens.refresh_token, self.client.client_secret)
        return [one for one in found if one]


_SECRET = {"tokens", "client"}
OnSecrets = Callable[[str, Iterable[str]], None]
"""Receives the secrets of a sign-in, and its key, before they are used."""


class CredentialStore:
    """Keeps a file for each sign-in; it contains the secrets only if there is no keyring.

    Only `lock` may be used in an event loop: reading takes long, above all from a keyring.
    """

    def __init__(self, folder: Path, on_secrets: OnSecrets | None = None) -> None:
        self._folder = folder
        self._on_secrets = on_secrets
        self._cache: dict[Path, tuple[tuple[int, int], Credentials]] = {}
        """By file, with its time and inode: every request needs the tokens, and other processes may renew them."""

    @asynccontextmanager
    async def lock(self, url: str, principal: str) -> AsyncIterator[None]:
        """Hold a lock shared with other processes: a refresh token may be valid only once."""
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

    def signed_in(self) -> list[SignedIn]:
        """Return all sign-ins, without asking the keyring."""
        found = []
        for file in sorted(self._folder.glob("*.json")):
            with suppress(OSError, ValidationError):
                found.append(SignedIn.model_validate_json(_read(file)))
        return found

    def load(self, url: str, principal: str) -> Credentials | None:
        """Return the credentials; None if there are none, or they can't be read."""
        file = self._file(url, principal)
        with suppress(OSError, ValueError, TypeError):
            status = file.stat()
            stamp = (status.st_mtime_ns, status.st_ino)
            if (cached := self._cache.get(file)) and cached[0] == stamp:
                return cached[1]
            fields = dict(from_json(_read(file)))
            if "tokens" not in fields:
                fields |= from_json(
                    _ask_keyring(lambda keyring: keyring.get_password(_SERVICE, file.stem)) or ""
                )
            credentials = Credentials.model_validate(fields)
            self._cache[file] = stamp, credentials
            self._announce(file, credentials)
            return credentials
        return None

    def _announce(self, file: Path, credentials: Credentials) -> None:
        if self._on_secrets is not None:
            self._on_secrets(file.stem, credentials.secrets)

    def save(self, credentials: Credentials) -> None:
        file = self._file(credentials.url, credentials.principal)
        # A result may contain a renewed token before the file is read again.
        self._announce(file, credentials)
        secret = credentials.model_dump_json(include=_SECRET, exclude_none=True)
        in_keyring = _ask_keyring(lambda keyring: keyring.set_password(_SERVICE, file.stem, secret) or True)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(file) as writer:
                kept = credentials.model_dump_json(exclude=_SECRET if in_keyring else None, exclude_none=True)
                writer.write(kept.encode())
        except OSError as error:
            raise SignInError(f"The sign-in can't be saved in {self._folder}: {error.strerror}.") from error

    def remove(self, url: str, principal: str) -> None:
        file = self._file(url, principal)
        _ask_keyring(lambda keyring: keyring.delete_password(_SERVICE, file.stem))
        with suppress(OSError):
            file.unlink()


def credential_store(config: Config, on_secrets: OnSecrets | None = None) -> CredentialStore:
    return CredentialStore(config.data_dir / "sign-ins", on_secrets)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _read(file: Path) -> bytes:
    return read_limited(file, _MAX_BYTES, regular=True)[0]


def _try_lock(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _ask_keyring(question: Callable[[Any], Any]) -> Any:
    """Ask the system's keyring; None if there is none, or it doesn't answer in time.

    In a daemon thread, because one that waits for a person must not keep the process from exiting. It holds the lock until
    it has an answer, so that there is only one.
    """
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            import keyring  # noqa: PLC0415 -- searching for backends takes long

            backend = keyring.get_keyring()
            answer.set_result(question(backend) if backend.priority > 0 else None)
        except Exception as error:  # noqa: BLE001 -- backends raise whatever their libraries do
            logger.info("The keyring can't be used: %s", error)
            answer.set_result(None)
        finally:
            _keyring_lock.release()

    if not _keyring_lock.acquire(timeout=KEYRING_SECONDS):
        return None
    threading.Thread(target=ask, daemon=True).start()
    with suppress(TimeoutError):
        return answer.result(KEYRING_SECONDS)
    return None
