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
from pydantic import AnyUrl, PrivateAttr

from halflap.core.errors import SignInError
from halflap.core.text import visible

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.upstream.signin.credentials import Credentials
    from halflap.upstream.signin.redirect import Redirect

__all__ = ["PersonProvider", "client_provider", "sign_in_client"]

_SECONDS = 30.0
_MAX_BODY_BYTES = 1024 * 1024
_MAX_SHOWN = 200
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_SECRET_METHODS = ("client_secret_basic", "client_secret_post")

# The SDK logs, with a traceback, the errors that it also raises.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)


class _Storage:
    """What a sign-in begins with. The SDK keeps what it obtains in its context, too, where we take it from."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass


class _Metadata(OAuthClientMetadata):
    """Describes Halflap. The SDK sets the scope that the server names, which is not all that we want to ask for."""

    _configured: str | None = PrivateAttr(None)
    _missing: str | None = PrivateAttr(None)

    def ask_for(self, configured: str | None, missing: str | None) -> None:
        """Ask for what is configured in place of what the server names, and for what was missing before."""
        self._configured, self._missing = configured, missing

    def __setattr__(self, name: str, value: object) -> None:
        if name == "scope":
            assert value is None or isinstance(value, str)
            value = union_scopes(self._configured or value, self._missing)
        super().__setattr__(name, value)


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
        self._server_url = httpx2.URL(server.url)
        self._oauth = server.oauth
        self._redirect = redirect
        self._show = show
        uris = None if redirect is None else [AnyUrl(redirect.uri)]
        metadata = _Metadata(redirect_uris=uris, client_name="Halflap")
        metadata.ask_for(
            " ".join(self._oauth.scopes) or None, None if held is None else held.signed_in.missing_scope
        )
        super().__init__(
            server.url,
            metadata,
            _Storage(self._client(uris, held)),
            self._open,
            None if redirect is None else redirect.answer,
            self._oauth.client_metadata_url,
        )

    def _client(
        self, uris: list[AnyUrl] | None, held: Credentials | None
    ) -> OAuthClientInformationFull | None:
        """Return the client that is configured, or was registered before and can still be used."""
        oauth, known = self._oauth, None if held is None else held.client
        if oauth.client_id is not None:
            issuer = known.issuer if known is not None and known.client_id == oauth.client_id else None
            return OAuthClientInformationFull(
                client_id=oauth.client_id,
                client_secret=oauth.client_secret,
                redirect_uris=uris,
                issuer=oauth.issuer or issuer,
            )
        if known is None or held is None or uris is None:
            return known
        lacks_scope = set((held.signed_in.missing_scope or "").split()) - set((known.scope or "").split())
        is_usable = known.redirect_uris == uris and not (known.scope and lacks_scope)
        return known if is_usable else None

    def _select_authorization_server(self, advertised: list[str]) -> str:
        issuer = self._oauth.issuer
        if issuer is None:
            return super()._select_authorization_server(advertised)
        if issuer not in advertised:
            others = ", ".join(visible(one, _MAX_SHOWN) for one in advertised[:3])
            raise SignInError(f"The server leads to {others}, and not to the configured `issuer`.")
        return issuer

    async def _perform_authorization(self) -> httpx2.Request:
        context = self.context
        if self._oauth.client_id is not None and context.client_info is not None:
            metadata = context.oauth_metadata
            supported = metadata and metadata.token_endpoint_auth_methods_supported
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

    async def renew(self, held: Credentials, http: httpx2.AsyncClient) -> bool:
        """Get new tokens; False if the server no longer accepts the old ones."""
        context = self.context
        context.current_tokens = held.tokens
        context.client_info = held.client
        context.oauth_metadata = held.metadata
        context.protected_resource_metadata = held.resource
        response = await http.send(await self._refresh_token())
        if response.status_code in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED}:
            return False
        if not await self._handle_refresh_response(response):
            raise SignInError(f"the authorization server answered {response.status_code}.")
        return True


def client_provider(server: ServerConfig) -> OAuthClientProvider:
    """Return what signs in as Halflap itself, with the configured id and secret."""
    oauth = server.oauth
    assert server.url is not None
    assert oauth.client_id is not None
    assert oauth.client_secret is not None
    scope = " ".join(oauth.scopes) or None
    return ClientCredentialsOAuthProvider(
        server.url, _Storage(), oauth.client_id, oauth.client_secret, scope=scope, issuer=oauth.issuer
    )


@asynccontextmanager
async def sign_in_client(server_url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Open a client for a sign-in, which is led from address to address by an untrusted server."""

    async def check(request: httpx2.Request) -> None:
        check_address(request.url, httpx2.URL(server_url))

    hooks: dict[str, list[Callable[..., Awaitable[None]]]] = {"request": [check], "response": [_read_body]}
    # In a thread: it reads the machine's certificates.
    client = await asyncio.to_thread(httpx2.AsyncClient, timeout=_SECONDS, event_hooks=hooks)
    async with client:
        yield client


async def _read_body(response: httpx2.Response) -> None:
    """Read a body up to a limit, before the client reads it without one."""
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > _MAX_BODY_BYTES:
            raise SignInError(
                f"{response.request.url.host} answered with more than {_MAX_BODY_BYTES:,} bytes."
            )
    response._content = bytes(body)  # noqa: SLF001 -- there is no public way


def check_address(url: httpx2.URL, server: httpx2.URL) -> None:
    """Refuse an address that a server must not lead us to: other schemes, plain HTTP, and our own machine."""
    is_local, is_local_server = url.host in _LOOPBACK, server.host in _LOOPBACK
    if url.scheme == "https" and (is_local_server or not is_local):
        return
    if url.scheme == "http" == server.scheme and is_local == is_local_server:
        return
    shown = visible(str(url.copy_with(userinfo=b"", query=None, fragment=None)), _MAX_SHOWN)
    raise SignInError(f"The server leads to {shown}, which is not a safe address to sign in at.")
