"""Signing in to servers with OAuth 2.1: once with a person, after that without one for as long as the server allows."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.utils import extract_field_from_www_auth, union_scopes
from pydantic import ValidationError

from halflap.core.errors import SignInError
from halflap.core.text import visible
from halflap.core.values import person_of
from halflap.upstream.signin.credentials import Credentials, CredentialStore
from halflap.upstream.signin.provider import ClientProvider, PersonProvider, Provider, Storage, sign_in_client
from halflap.upstream.signin.redirect import LoopbackRedirect, Redirect

if TYPE_CHECKING:
    from halflap.config import ServerConfig

__all__ = ["SignIn"]

_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_PING_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}
_MAX_SHOWN = 500


class SignIn(httpx2.Auth):
    """The sign-in to one server on behalf of one principal; authenticates the requests of a connection."""

    def __init__(self, server: ServerConfig, principal: str, store: CredentialStore) -> None:
        assert server.url is not None
        self.server = server
        person = person_of(principal)
        self.command = f"halflap login {server.name}" + ("" if person is None else f" --for {person}")
        """What a person runs to sign in."""
        self._url = server.url
        self._principal = principal
        self._store = store
        self._is_unattended = server.oauth.grant == "client_credentials"

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        held = await self.held()
        if (held is None and self._is_unattended) or (held is not None and held.is_expired):
            held = await self._renew(held)
        if held is not None:
            _authorize(request, held)
        response = yield request
        if response.status_code == HTTPStatus.UNAUTHORIZED and held is not None:
            # It was revoked or, if the clocks differ, has expired.
            renewed = await self._renew(held)
            if renewed is not None:
                _authorize(request, renewed)
                yield request
        elif response.status_code == HTTPStatus.FORBIDDEN and held is not None:
            await self._note_missing_scope(held, response)

    async def held(self) -> Credentials | None:
        return await self._store.load(self._url, self._principal)

    async def sign_in(
        self, show: Callable[[str, Redirect], Awaitable[None]], redirect: Redirect | None = None
    ) -> Credentials:
        """Let a person sign in. `show` gets the address to open in a browser, and where it leads back to."""
        held = await self.held()
        if self._is_unattended:
            return await self._obtain(ClientProvider(self.server))
        if redirect is not None:
            return await self._sign_in_at(redirect, held, show)
        async with _listening(self.server.oauth.callback_port, held) as loopback:
            return await self._sign_in_at(loopback, held, show)

    async def _sign_in_at(
        self, redirect: Redirect, held: Credentials | None, show: Callable[[str, Redirect], Awaitable[None]]
    ) -> Credentials:
        provider = PersonProvider(self.server, held, redirect, lambda url: show(url, redirect))
        return await self._obtain(provider)

    async def sign_out(self) -> bool:
        """Forget the credentials, and revoke them where the server can; return whether there were any."""
        held = await self.held()
        if held is not None and held.metadata is not None and held.metadata.revocation_endpoint is not None:
            token = held.tokens.refresh_token or held.tokens.access_token
            data = {"token": token, "client_id": held.client.client_id}
            if held.client.client_secret is not None:
                data["client_secret"] = held.client.client_secret
            with suppress(httpx2.HTTPError, SignInError):
                async with sign_in_client(self._url) as http:
                    await http.post(str(held.metadata.revocation_endpoint), data=data)
        await self._store.remove(self._url, self._principal)
        return held is not None

    async def _obtain(self, provider: Provider) -> Credentials:
        """Sign in by sending a request that the server should refuse; the SDK answers its challenge."""
        async with sign_in_client(self._url) as http:
            headers = {**self.server.headers, **_PING_HEADERS}
            try:
                response = await http.post(self._url, json=_PING, headers=headers, auth=provider)
            except (OAuthFlowError, ValidationError, httpx2.HTTPError) as error:
                why = visible(str(error) or type(error).__name__, _MAX_SHOWN).rstrip(".")
                raise SignInError(f"The sign-in to {self.server.name!r} failed: {why}.") from error
        storage = provider.context.storage
        assert isinstance(storage, Storage)
        client = provider.context.client_info
        if storage.tokens is None or client is None:
            raise SignInError(
                f"The server {self.server.name!r} did not ask for a sign-in: it answered {response.status_code}."
            )
        now = time.time()
        seconds = storage.tokens.expires_in
        credentials = Credentials(
            url=self._url,
            principal=self._principal,
            tokens=storage.tokens,
            client=client,
            metadata=provider.context.oauth_metadata,
            resource=provider.context.protected_resource_metadata,
            signed_in_at=now,
            expires_at=None if seconds is None else now + seconds,
        )
        await self._store.save(credentials)
        return credentials

    async def _renew(self, stale: Credentials | None) -> Credentials | None:
        """Return credentials that may work where these don't; None if a person has to sign in again.

        Other requests and other gateways may do the same at once; one does it, and the others use what it got.
        """
        async with self._store.lock(self._url, self._principal):
            held = await self.held()
            if held is not None and held != stale and not held.is_expired:
                return held
            if self._is_unattended:
                return await self._obtain(ClientProvider(self.server))
            if held is None or held.tokens.refresh_token is None:
                return None
            async with sign_in_client(self._url) as http:
                try:
                    tokens = await PersonProvider(self.server, held).renew(held, http)
                except httpx2.HTTPError as error:
                    raise SignInError(f"the authorization server can't be reached: {error}.") from error
            if tokens is None:
                await self._store.remove(self._url, self._principal)
                return None
            expires_at = None if tokens.expires_in is None else time.time() + tokens.expires_in
            renewed = held.model_copy(update={"tokens": tokens, "expires_at": expires_at})
            await self._store.save(renewed)
            return renewed

    async def _note_missing_scope(self, held: Credentials, response: httpx2.Response) -> None:
        if extract_field_from_www_auth(response, "error") == "insufficient_scope":
            asked = union_scopes(held.tokens.scope, extract_field_from_www_auth(response, "scope"))
            await self._store.save(held.model_copy(update={"missing_scope": asked}))


def _authorize(request: httpx2.Request, credentials: Credentials) -> None:
    request.headers["Authorization"] = f"Bearer {credentials.tokens.access_token}"


def _listening(port: int | None, held: Credentials | None) -> LoopbackRedirect:
    """Listen at the configured port or, if possible, at the one that the client was registered with."""
    if port is not None:
        try:
            return LoopbackRedirect(port)
        except OSError as error:
            raise SignInError(f"Port {port} (`callback_port`) can't be used: {error.strerror}.") from error
    uris = (held.client.redirect_uris if held is not None else None) or []
    for uri in uris:
        with suppress(OSError, OverflowError):
            return LoopbackRedirect(uri.port or 0)
    return LoopbackRedirect(0)
