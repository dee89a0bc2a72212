"""Signing in to servers with OAuth 2.1: once with a person, after that without one for as long as the server allows."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import extract_field_from_www_auth, union_scopes
from pydantic import ValidationError

from halflap.core.errors import ClientRefusedError, SignInError, SignInNeededError
from halflap.core.text import visible
from halflap.core.values import CallContext, person_of
from halflap.upstream.signin.credentials import Credentials, CredentialStore, SignedIn
from halflap.upstream.signin.provider import PersonProvider, client_provider, sign_in_client
from halflap.upstream.signin.redirect import LoopbackRedirect, Redirect

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext

    from halflap.config import ServerConfig

__all__ = ["SignIn", "can_open_links", "sign_in_through_client"]

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
        self.in_client = asyncio.Lock()
        """Held while a client shows the link, so that it shows one for all calls."""
        self._url = server.url
        self._principal = principal
        self._store = store
        self._is_unattended = server.oauth.grant == "client_credentials"

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        held = await self.held()
        if (held is None and self._is_unattended) or (held is not None and held.signed_in.is_expired):
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
            await self._note_missing_scope(response)

    async def held(self) -> Credentials | None:
        return await self._store.load(self._url, self._principal)

    async def sign_in(self, show: Callable[[str, Redirect], Awaitable[None]]) -> Credentials:
        """Let a person sign in. `show` gets the address to open in a browser, and where it leads back to."""
        if self._is_unattended:
            return await self._obtain(client_provider(self.server))
        held = await self.held()
        async with _listening(self.server.oauth.callback_port, held) as redirect:
            return await self._obtain(
                PersonProvider(self.server, held, redirect, lambda url: show(url, redirect))
            )

    async def sign_out(self) -> bool:
        """Forget the credentials, and revoke them where the server can; return whether there were any."""
        held = await self.held()
        if held is not None and held.metadata is not None and held.metadata.revocation_endpoint is not None:
            data = {
                "token": held.tokens.refresh_token or held.tokens.access_token,
                "client_id": held.client.client_id,
                "client_secret": held.client.client_secret,
            }
            with suppress(httpx2.HTTPError, SignInError):
                async with sign_in_client(self._url) as http:
                    sent = {name: value for name, value in data.items() if value is not None}
                    await http.post(str(held.metadata.revocation_endpoint), data=sent)
        await self._store.remove(self._url, self._principal)
        return held is not None

    async def _obtain(self, provider: OAuthClientProvider) -> Credentials:
        """Sign in by sending a request that the server should refuse; the SDK answers its challenge."""
        async with sign_in_client(self._url) as http:
            headers = {**self.server.headers, **_PING_HEADERS}
            try:
                response = await http.post(self._url, json=_PING, headers=headers, auth=provider)
            except (OAuthFlowError, ValidationError, httpx2.HTTPError) as error:
                why = visible(str(error) or type(error).__name__, _MAX_SHOWN).rstrip(".")
                raise SignInError(f"The sign-in to {self.server.name!r} failed: {why}.") from error
        if provider.context.current_tokens is None:
            raise SignInError(
                f"The server {self.server.name!r} did not ask for a sign-in: it answered {response.status_code}."
            )
        return await self._save(provider.context, None)

    async def _renew(self, stale: Credentials | None) -> Credentials | None:
        """Return credentials that may work where these don't; None if a person has to sign in again.

        Other requests and other gateways may do the same at once; one does it, and the others use what it got.
        """
        async with self._store.lock(self._url, self._principal):
            held = await self.held()
            if held is not None and held != stale and not held.signed_in.is_expired:
                return held
            if self._is_unattended:
                return await self._obtain(client_provider(self.server))
            if held is None or held.tokens.refresh_token is None:
                return None
            provider = PersonProvider(self.server, held)
            async with sign_in_client(self._url) as http:
                try:
                    is_renewed = await provider.renew(held, http)
                except httpx2.HTTPError as error:
                    raise SignInError(f"the authorization server can't be reached: {error}.") from error
            if is_renewed:
                return await self._save(provider.context, held.signed_in)
            await self._store.remove(self._url, self._principal)
            return None

    async def _save(self, obtained: OAuthContext, before: SignedIn | None) -> Credentials:
        tokens, client, metadata = obtained.current_tokens, obtained.client_info, obtained.oauth_metadata
        assert tokens is not None
        assert client is not None
        now = time.time()
        signed_in = SignedIn(
            url=self._url,
            principal=self._principal,
            issuer=None if metadata is None else str(metadata.issuer),
            scope=tokens.scope,
            signed_in_at=now if before is None else before.signed_in_at,
            expires_at=None if tokens.expires_in is None else now + tokens.expires_in,
            renews_itself=self._is_unattended or tokens.refresh_token is not None,
            missing_scope=None if before is None else before.missing_scope,
        )
        credentials = Credentials(
            signed_in=signed_in,
            tokens=tokens,
            client=client,
            metadata=metadata,
            resource=obtained.protected_resource_metadata,
        )
        await self._store.save(credentials)
        return credentials

    async def _note_missing_scope(self, response: httpx2.Response) -> None:
        """Note what the server asks for in addition, so that the next sign-in asks for it."""
        if extract_field_from_www_auth(response, "error") != "insufficient_scope":
            return
        asked = extract_field_from_www_auth(response, "scope")
        async with self._store.lock(self._url, self._principal):
            held = await self.held()
            if held is not None:
                update = {"missing_scope": union_scopes(held.tokens.scope, asked)}
                signed_in = held.signed_in.model_copy(update=update)
                await self._store.save(held.model_copy(update={"signed_in": signed_in}))


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


def can_open_links(context: CallContext) -> bool:
    """Return whether the client can show the person a link that leads back to this machine.

    Not where several people share the gateway: one could let another sign in, and get their tokens.
    """
    if context.client is None or person_of(context.principal) is not None:
        return False
    elicitation = context.client.capabilities.get("elicitation")
    return isinstance(elicitation, dict) and "url" in elicitation


async def sign_in_through_client(sign_in: SignIn, context: CallContext, began: float) -> None:
    """Sign in, unless another call has done so since this one `began`."""
    client = context.client
    assert client is not None

    async def show(url: str, _: Redirect) -> None:
        question = {
            "mode": "url",
            "message": f"Sign in to {sign_in.server.name}. The call goes on after that.",
            "url": url,
            "elicitationId": secrets.token_urlsafe(12),
        }
        answers = await client.ask({"sign-in": {"method": "elicitation/create", "params": question}})
        if answers["sign-in"].get("action") != "accept":
            raise SignInError("The sign-in was declined.")

    async with sign_in.in_client:
        held = await sign_in.held()
        if held is not None and held.signed_in.signed_in_at >= began:
            return
        try:
            await sign_in.sign_in(show)
        except (SignInError, ClientRefusedError) as error:
            message = f"{str(error).rstrip('.')}. To sign in without the client, run `{sign_in.command}`."
            raise SignInNeededError(sign_in.server.name, message) from error
