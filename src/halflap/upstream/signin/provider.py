"""The SDK's OAuth client, set up for one server, and the HTTP client that it talks to authorization servers with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import union_scopes
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from halflap.core.errors import SignInError
from halflap.core.text import visible

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.upstream.signin.credentials import Credentials
    from halflap.upstream.signin.redirect import Redirect

__all__ = ["ClientProvider", "PersonProvider", "Provider", "Storage", "sign_in_client"]

_SECONDS = 30.0
_MAX_BODY_BYTES = 1024 * 1024
_MAX_SHOWN = 200
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_SECRET_METHODS = ("client_secret_basic", "client_secret_post")

# The SDK logs, with a traceback, the errors that it also raises.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)


class Storage:
    """What the SDK obtains during one sign-in."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return None: a sign-in begins without tokens."""

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class PersonProvider(OAuthClientProvider):
    """Lets a person sign in with a browser (authorization code with PKCE), and renews their tokens."""

    def __init__(
        self,
        server: ServerConfig,
        held: Credentials | None,
        redirect: Redirect | None = None,
        show: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        assert server.url is not None
        oauth = server.oauth
        uris = None if redirect is None else [AnyUrl(redirect.uri)]
        self._server_url = httpx2.URL(server.url)
        self._scope = " ".join(oauth.scopes) or None
        self._missing_scope = None if held is None else held.missing_scope
        self._redirect = redirect
        self._show = show
        client = None if held is None else held.client
        if oauth.client_id is not None:
            issuer = client.issuer if client is not None and client.client_id == oauth.client_id else None
            client = OAuthClientInformationFull(
                client_id=oauth.client_id,
                client_secret=oauth.client_secret,
                redirect_uris=uris,
                issuer=oauth.issuer or issuer,
            )
        elif uris is not None and client is not None and client.redirect_uris != uris:
            # It was registered for another port.
            client = None
        super().__init__(
            server.url,
            OAuthClientMetadata(redirect_uris=uris, client_name="Halflap"),
            Storage(client),
            self._open,
            redirect.answer if redirect is not None else None,
            oauth.client_metadata_url,
        )
        self._is_configured = oauth.client_id is not None
        self._issuer = oauth.issuer

    def _select_authorization_server(self, advertised: list[str]) -> str:
        if self._issuer is None:
            return super()._select_authorization_server(advertised)
        if self._issuer not in advertised:
            others = ", ".join(visible(one, _MAX_SHOWN) for one in advertised[:3])
            raise SignInError(f"The server leads to {others}, and not to the configured `issuer`.")
        return self._issuer

    async def _perform_authorization(self) -> httpx2.Request:
        context = self.context
        wanted = self._scope or context.client_metadata.scope
        context.client_metadata.scope = union_scopes(wanted, self._missing_scope)
        if self._is_configured and context.client_info is not None:
            supported = (
                context.oauth_metadata and context.oauth_metadata.token_endpoint_auth_methods_supported
            )
            methods = [one for one in _SECRET_METHODS if one in (supported or _SECRET_METHODS)]
            has_secret = context.client_info.client_secret is not None
            context.client_info.token_endpoint_auth_method = methods[0] if has_secret and methods else "none"
        return await super()._perform_authorization()

    async def _open(self, url: str) -> None:
        assert self._redirect is not None
        assert self._show is not None
        check_address(httpx2.URL(url), self._server_url)
        self._redirect.expect(url)
        await self._show(url)

    async def renew(self, held: Credentials, http: httpx2.AsyncClient) -> OAuthToken | None:
        """Return new tokens; None if the server no longer accepts the old ones."""
        context = self.context
        context.current_tokens = held.tokens
        context.client_info = held.client
        context.oauth_metadata = held.metadata
        context.protected_resource_metadata = held.resource
        response = await http.send(await self._refresh_token())
        if response.status_code in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED}:
            return None
        if not await self._handle_refresh_response(response):
            raise SignInError(f"the authorization server answered {response.status_code}.")
        return context.current_tokens


class ClientProvider(ClientCredentialsOAuthProvider):
    """Signs in as Halflap itself, with the configured id and secret."""

    def __init__(self, server: ServerConfig) -> None:
        oauth = server.oauth
        assert server.url is not None
        assert oauth.client_id is not None
        assert oauth.client_secret is not None
        super().__init__(
            server.url,
            Storage(None),
            oauth.client_id,
            oauth.client_secret,
            scope=" ".join(oauth.scopes) or None,
            issuer=oauth.issuer,
        )


Provider = PersonProvider | ClientProvider


@asynccontextmanager
async def sign_in_client(server_url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Open a client for a sign-in, which is led from address to address by an untrusted server."""

    async def check(request: httpx2.Request) -> None:
        check_address(request.url, httpx2.URL(server_url))
        # So that what is read is as large as what was sent.
        request.headers["Accept-Encoding"] = "identity"

    async def limit(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise SignInError(
                f"{response.request.url.host} sent a compressed answer, which was not asked for."
            )
        response.stream = _Limited(response)

    hooks: dict[str, list[Callable[..., Awaitable[None]]]] = {"request": [check], "response": [limit]}
    # In a thread: it reads the machine's certificates.
    client = await asyncio.to_thread(httpx2.AsyncClient, timeout=_SECONDS, event_hooks=hooks)
    async with client:
        yield client


class _Limited(httpx2.AsyncByteStream):
    """A response's body up to a limit."""

    def __init__(self, response: httpx2.Response) -> None:
        self._host = response.request.url.host
        self._stream = response.stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        assert isinstance(self._stream, httpx2.AsyncByteStream)
        async for chunk in self._stream:
            size += len(chunk)
            if size > _MAX_BODY_BYTES:
                raise SignInError(f"{self._host} answered with more than {_MAX_BODY_BYTES:,} bytes.")
            yield chunk

    async def aclose(self) -> None:
        assert isinstance(self._stream, httpx2.AsyncByteStream)
        await self._stream.aclose()


def check_address(url: httpx2.URL, server: httpx2.URL) -> None:
    """Refuse an address that a server must not lead us to: other schemes, plain HTTP, and our own machine."""
    is_local = url.host in _LOOPBACK
    if url.scheme == "https" or (
        url.scheme == "http" == server.scheme and is_local == (server.host in _LOOPBACK)
    ):
        return
    shown = visible(str(url.copy_with(userinfo=b"", query=None, fragment=None)), _MAX_SHOWN)
    raise SignInError(f"The server leads to {shown}, which is not a safe address to sign in at.")
