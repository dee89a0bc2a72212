"""The SDK's OAuth client for one server, and the HTTP client that it uses for authorization servers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from ipaddress import ip_address
from socket import inet_aton
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import union_scopes
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl, PrivateAttr

from halflap.core.errors import SignInError
from halflap.core.text import visible
from halflap.upstream.json_rpc import TooLargeError, read_body

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext

    from halflap.config import ServerConfig
    from halflap.upstream.signin.credentials import Credentials
    from halflap.upstream.signin.redirect import Redirect

_SECONDS = 30.0
_MAX_BODY_BYTES = 1024 * 1024
_MAX_SHOWN = 200
_SECRET_METHODS = ("client_secret_basic", "client_secret_post")

# The SDK logs, with a traceback, the errors that it also raises.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)


async def _nothing(*_: object) -> None:
    pass


# What the SDK obtains is also in its context, from where we store it.
_NO_STORAGE: Any = SimpleNamespace(
    get_tokens=_nothing, set_tokens=_nothing, get_client_info=_nothing, set_client_info=_nothing
)


class _Metadata(OAuthClientMetadata):
    """Describes Halflap. Adjusts the scope that the SDK sets, because the server's own may not be all we ask for."""

    _asked: Callable[[str | None], str | None] = PrivateAttr()

    def __setattr__(self, name: str, value: object) -> None:
        if name == "scope":
            assert value is None or isinstance(value, str)
            value = self._asked(value)
        super().__setattr__(name, value)


class PersonProvider(OAuthClientProvider):
    """Lets a person sign in with a browser (authorization code with PKCE), as a configured or a newly registered client."""

    def __init__(
        self,
        server: ServerConfig,
        redirect: Redirect,
        show: Callable[[str, Redirect], Awaitable[None]],
        missing_scope: str | None,
    ) -> None:
        assert server.url is not None
        self._server_url = httpx2.URL(server.url)
        self._oauth = oauth = server.oauth
        self._redirect = redirect
        self._show = show
        metadata = _Metadata(redirect_uris=[AnyUrl(redirect.uri)], client_name="Halflap")
        configured = " ".join(oauth.scopes) or None
        metadata._asked = lambda named: union_scopes(configured or named, missing_scope)  # noqa: SLF001 -- ours
        super().__init__(
            server.url, metadata, _NO_STORAGE, self._open, redirect.answer, oauth.client_metadata_url
        )

    async def _initialize(self) -> None:
        await super()._initialize()
        if self._oauth.client_id is not None:
            self.context.client_info = OAuthClientInformationFull(
                client_id=self._oauth.client_id,
                client_secret=self._oauth.client_secret,
                redirect_uris=self.context.client_metadata.redirect_uris,
                issuer=self._oauth.issuer,
            )

    def _select_authorization_server(self, advertised: list[str]) -> str:
        issuer = self._oauth.issuer
        if issuer is None:
            return super()._select_authorization_server(advertised)
        if issuer not in advertised:
            others = ", ".join(visible(one, _MAX_SHOWN) for one in advertised[:3])
            raise SignInError(f"The server points to {others}, not to the configured `issuer`.")
        return issuer

    async def _perform_authorization(self) -> httpx2.Request:
        client, metadata = self.context.client_info, self.context.oauth_metadata
        if self._oauth.client_id is not None and client is not None:
            supported = metadata and metadata.token_endpoint_auth_methods_supported
            methods = [one for one in _SECRET_METHODS if one in (supported or _SECRET_METHODS)]
            client.token_endpoint_auth_method = methods[0] if client.client_secret and methods else "none"
        return await super()._perform_authorization()

    async def _open(self, url: str) -> None:
        check_address(httpx2.URL(url), self._server_url)
        self._redirect.expect(url)
        await self._show(url, self._redirect)


def client_provider(server: ServerConfig) -> OAuthClientProvider:
    """Return a provider that signs in as Halflap itself, with the configured id and secret."""
    oauth = server.oauth
    assert server.url is not None
    assert oauth.client_id is not None
    assert oauth.client_secret is not None
    scope = " ".join(oauth.scopes) or None
    return ClientCredentialsOAuthProvider(
        server.url, _NO_STORAGE, oauth.client_id, oauth.client_secret, scope=scope, issuer=oauth.issuer
    )


async def renew(stored: Credentials, http: httpx2.AsyncClient) -> OAuthContext | None:
    """Return a context with new tokens; None if the server no longer accepts the old ones."""
    provider = _provider_of(stored)
    try:
        response = await http.send(await provider._refresh_token())  # noqa: SLF001 -- the SDK renews only with a person behind it
    except httpx2.HTTPError as error:
        raise SignInError(f"the authorization server can't be reached: {error}.") from error
    if response.status_code in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED}:
        return None
    if not await provider._handle_refresh_response(response):  # noqa: SLF001 -- see above
        raise SignInError(f"the authorization server answered {response.status_code}.")
    return provider.context


async def revoke(stored: Credentials, http: httpx2.AsyncClient) -> None:
    """Revoke the tokens, if the authorization server can."""
    if stored.metadata is not None and stored.metadata.revocation_endpoint is not None:
        token = stored.tokens.refresh_token or stored.tokens.access_token
        data = {"token": token, "client_id": stored.client.client_id}
        data, headers = _provider_of(stored).context.prepare_token_auth(data)
        await http.post(str(stored.metadata.revocation_endpoint), data=data, headers=headers)


def _provider_of(stored: Credentials) -> OAuthClientProvider:
    provider = OAuthClientProvider(stored.url, OAuthClientMetadata(redirect_uris=None), _NO_STORAGE)
    context = provider.context
    context.current_tokens, context.client_info = stored.tokens, stored.client
    context.oauth_metadata, context.protected_resource_metadata = stored.metadata, stored.resource
    return provider


@asynccontextmanager
async def sign_in_client(server_url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Open an HTTP client for a sign-in, in which an untrusted server chooses the addresses."""

    async def check(request: httpx2.Request) -> None:
        check_address(request.url, httpx2.URL(server_url))

    async def read(response: httpx2.Response) -> None:
        host = response.request.url.host
        try:
            with anyio.fail_after(_SECONDS):
                await read_body(response, _MAX_BODY_BYTES)
        except TooLargeError as error:
            raise SignInError(f"{host} answered with {error}.") from error
        except TimeoutError as error:
            raise SignInError(f"The answer of {host} did not end within {_SECONDS:g} s.") from error

    hooks: dict[str, list[Callable[..., Awaitable[None]]]] = {"request": [check], "response": [read]}
    # In a thread: it reads the machine's certificates.
    client = await asyncio.to_thread(httpx2.AsyncClient, timeout=_SECONDS, event_hooks=hooks)
    async with client:
        yield client


def check_address(url: httpx2.URL, server: httpx2.URL) -> None:
    """Reject addresses that a server must not choose: other schemes, plain HTTP, and networks that it is not in itself."""
    reach, server_reach = _reach(url.host), _reach(server.host)
    if url.scheme == "https" and reach >= server_reach:
        return
    if url.scheme == "http" == server.scheme and reach == server_reach:
        return
    shown = visible(str(url.copy_with(userinfo=b"", query=None, fragment=None)), _MAX_SHOWN)
    raise SignInError(f"The server points to {shown}, which is not a safe address to sign in at.")


def _reach(host: str) -> int:
    """Return 0 for this machine, 1 for addresses of a private network, and 2 for others."""
    try:
        # As the system reads it: 127.1 is this machine, too.
        address = ip_address(host if ":" in host else inet_aton(host))
    except (ValueError, OSError):
        return 0 if host.rstrip(".").rpartition(".")[2].lower() == "localhost" else 2
    address = getattr(address, "ipv4_mapped", None) or address
    return 0 if address.is_loopback or address.is_unspecified else 1 + address.is_global
