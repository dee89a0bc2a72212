"""Sign in to servers with OAuth 2.1: once with a person, then automatically for as long as the server allows."""

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
from halflap.upstream.json_rpc import read_body
from halflap.upstream.signin.credentials import Credentials, CredentialStore
from halflap.upstream.signin.provider import PersonProvider, client_provider, renew, revoke, sign_in_client
from halflap.upstream.signin.redirect import Redirect

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext

    from halflap.config import ServerConfig

_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_PING_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
_MAX_SHOWN = 500


class SignIn(httpx2.Auth):
    """The sign-in to one server on behalf of one principal; authenticates the requests of a connection."""

    def __init__(self, server: ServerConfig, principal: str, store: CredentialStore) -> None:
        assert server.url is not None
        self.server = server
        person = person_of(principal)
        self.command = f"halflap login {server.name}" + ("" if person is None else f" --for {person}")
        """The command that a person runs to sign in."""
        self._url = server.url
        self._principal = principal
        self._store = store
        self._is_unattended = server.oauth.grant == "client_credentials"
        self._asking = asyncio.Lock()
        """Held while a client shows the link, so that concurrent calls share one."""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        stored = await self._stored()
        if (stored is None and self._is_unattended) or (stored is not None and stored.is_expired):
            stored = await self._renew(stored)
        if stored is not None:
            _authorize(request, stored)
        response = yield request
        if response.status_code == HTTPStatus.UNAUTHORIZED and stored is not None:
            # The token was revoked or, if the clocks differ, expired.
            renewed = await self._renew(stored)
            if renewed is not None:
                # Otherwise the HTTP client reads it whole.
                await read_body(response, 0)
                _authorize(request, renewed)
                yield request
        elif response.status_code == HTTPStatus.FORBIDDEN and stored is not None:
            await self._note_missing_scope(response)

    async def sign_in(self, show: Callable[[str, Redirect], Awaitable[None]]) -> Credentials:
        """Let a person sign in. `show` gets the address to open in a browser, and the redirect that waits for the answer."""
        if self._is_unattended:
            return await self._obtain(client_provider(self.server))
        stored, port = await self._stored(), self.server.oauth.callback_port
        try:
            redirect = Redirect(port or 0)
        except OSError as error:
            raise SignInError(f"Port {port} (`callback_port`) can't be used: {error.strerror}.") from error
        async with redirect:
            missing = None if stored is None else stored.missing_scope
            return await self._obtain(PersonProvider(self.server, redirect, show, missing))

    async def sign_in_through_client(self, context: CallContext, began: float) -> bool:
        """Sign in through a link that the client shows, unless another call has done so since this one `began`.

        Returns False if that is impossible: the client cannot show links, or several people share the gateway, where one
        could make another sign in and use their tokens.
        """
        client = context.client
        elicitation = None if client is None else client.capabilities.get("elicitation")
        if client is None or person_of(context.principal) is not None or "url" not in (elicitation or {}):
            return False

        async def show(url: str, _: Redirect) -> None:
            question = {
                "mode": "url",
                "message": f"Sign in to {self.server.name}. The call continues after that.",
                "url": url,
                "elicitationId": secrets.token_urlsafe(12),
            }
            answers = await client.ask({"sign-in": {"method": "elicitation/create", "params": question}})
            if answers["sign-in"].get("action") != "accept":
                raise SignInError("The sign-in was declined.")

        async with self._asking:
            stored = await self._stored()
            if stored is not None and stored.signed_in_at >= began:
                return True
            try:
                await self.sign_in(show)
            except (SignInError, ClientRefusedError) as error:
                message = f"{str(error).rstrip('.')}. To sign in without the client, run `{self.command}`."
                raise SignInNeededError(self.server.name, message) from error
        return True

    async def sign_out(self) -> bool:
        """Revoke the credentials if the server supports it, and delete them; return whether there were any."""
        stored = await self._stored()
        if stored is not None:
            with suppress(httpx2.HTTPError, httpx2.InvalidURL, SignInError):
                async with sign_in_client(self._url) as http:
                    await revoke(stored, http)
        await asyncio.to_thread(self._store.remove, self._url, self._principal)
        return stored is not None

    async def _stored(self) -> Credentials | None:
        return await asyncio.to_thread(self._store.load, self._url, self._principal)

    async def _obtain(self, provider: OAuthClientProvider) -> Credentials:
        """Sign in by sending a request that the server should reject; the SDK answers the challenge."""
        async with sign_in_client(self._url) as http:
            headers = {**self.server.headers, **_PING_HEADERS}
            try:
                response = await http.post(self._url, json=_PING, headers=headers, auth=provider)
            except (OAuthFlowError, ValidationError, httpx2.HTTPError, httpx2.InvalidURL) as error:
                why = visible(str(error) or type(error).__name__, _MAX_SHOWN).rstrip(".")
                raise SignInError(f"The sign-in to {self.server.name!r} failed: {why}.") from error
        if provider.context.current_tokens is None:
            raise SignInError(
                f"The server {self.server.name!r} did not ask for a sign-in: it answered {response.status_code}."
            )
        return await self._save(provider.context, None)

    async def _renew(self, stale: Credentials | None) -> Credentials | None:
        """Return new credentials in place of stale ones; None if a person has to sign in again.

        Several requests and processes may do this at the same time: the first renews, and the others use its result.
        """
        async with self._store.lock(self._url, self._principal):
            stored = await self._stored()
            if stored is not None and stored != stale and not stored.is_expired:
                return stored
            if self._is_unattended:
                return await self._obtain(client_provider(self.server))
            if stored is None or stored.tokens.refresh_token is None:
                return None
            async with sign_in_client(self._url) as http:
                renewed = await renew(stored, http)
            if renewed is not None:
                return await self._save(renewed, stored)
            await asyncio.to_thread(self._store.remove, self._url, self._principal)
            return None

    async def _save(self, obtained: OAuthContext, before: Credentials | None) -> Credentials:
        tokens, client, metadata = obtained.current_tokens, obtained.client_info, obtained.oauth_metadata
        assert tokens is not None
        assert client is not None
        now = time.time()
        credentials = Credentials(
            url=self._url,
            principal=self._principal,
            issuer=None if metadata is None else str(metadata.issuer),
            scope=tokens.scope,
            signed_in_at=now if before is None else before.signed_in_at,
            expires_at=None if tokens.expires_in is None else now + tokens.expires_in,
            renews_itself=self._is_unattended or tokens.refresh_token is not None,
            missing_scope=None if before is None else before.missing_scope,
            tokens=tokens,
            client=client,
            metadata=metadata,
            resource=obtained.protected_resource_metadata,
        )
        await asyncio.to_thread(self._store.save, credentials)
        return credentials

    async def _note_missing_scope(self, response: httpx2.Response) -> None:
        """Remember the missing permission, so that the next sign-in asks for it."""
        if extract_field_from_www_auth(response, "error") != "insufficient_scope":
            return
        asked = extract_field_from_www_auth(response, "scope")
        async with self._store.lock(self._url, self._principal):
            stored = await self._stored()
            if stored is None:
                return
            missing = union_scopes(stored.tokens.scope, asked)
            if missing != stored.missing_scope:
                await asyncio.to_thread(
                    self._store.save, stored.model_copy(update={"missing_scope": missing})
                )


def _authorize(request: httpx2.Request, credentials: Credentials) -> None:
    request.headers["Authorization"] = f"Bearer {credentials.tokens.access_token}"
