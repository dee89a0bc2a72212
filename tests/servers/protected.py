# ruff: noqa: ARG002 -- the SDK's interface passes more than is needed here
"""An MCP server that wants OAuth, and its authorization server (the SDK's), in this process, with faults on request."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send


class Accounts(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """The authorization server's memory. Everybody who comes is signed in as `person`."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.person = "ada"
        self.seconds: int | None = 3600
        self.refreshes = 0
        self.refused: str | None = None
        """Why a person is refused."""
        self.issuer: str | None = None
        """What its answers name as their issuer."""
        self.audience: str | None = None
        """Of new tokens, in place of what was asked for."""
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.requests: list[AuthorizationParams] = []

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.requests.append(params)
        if self.refused is not None:
            answer = {"error": "access_denied", "error_description": self.refused}
            return construct_redirect_uri(str(params.redirect_uri), state=params.state, **answer)
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=self.person,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(
            str(params.redirect_uri), code=code.code, state=params.state, iss=self.issuer
        )

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(client.client_id, authorization_code)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.refreshes += 1
        # Rotation: each can be used once.
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        return self._tokens(client.client_id, refresh_token)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.revoke()

    def revoke(self) -> None:
        """End every sign-in."""
        self.access.clear()
        self.refresh.clear()

    def expire(self) -> None:
        """Let the access tokens expire; they can be refreshed."""
        self.access.clear()

    def _tokens(self, client: str, grant: AuthorizationCode | RefreshToken) -> OAuthToken:
        fields: dict[str, Any] = {
            "client_id": client,
            "scopes": grant.scopes,
            "resource": self.audience or grant.resource,
            "subject": grant.subject,
        }
        access = AccessToken(token=secrets.token_urlsafe(), **fields)
        refresh = RefreshToken(token=secrets.token_urlsafe(), **{**fields, "resource": grant.resource})
        self.access[access.token] = access
        self.refresh[refresh.token] = refresh
        return OAuthToken(
            access_token=access.token,
            refresh_token=refresh.token,
            expires_in=self.seconds,
            scope=" ".join(grant.scopes),
        )


class Protected:
    """The server at `url`. `answers` replaces what it answers at a path."""

    def __init__(self, port: int) -> None:
        self.accounts = Accounts()
        self.origin = f"http://127.0.0.1:{port}"
        self.url = f"{self.origin}/mcp"
        self.answers: dict[str, ASGIApp] = {}
        self.paths: list[str] = []
        self.leaked: list[str] = []
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(self.origin),
            resource_server_url=AnyHttpUrl(self.url),
            validate_token_resource=True,
            required_scopes=["read"],
            client_registration_options=ClientRegistrationOptions(
                enabled=True, valid_scopes=["read", "write"], default_scopes=["read", "write"]
            ),
            revocation_options=RevocationOptions(enabled=True),
        )
        server = MCPServer("protected", auth_server_provider=self.accounts, auth=settings)

        @server.tool()
        def who() -> str:
            """Return who is signed in."""
            token = get_access_token()
            return "nobody" if token is None else str(token.subject)

        @server.tool()
        def leak() -> str:
            """Return the tokens of this and all earlier requests."""
            token = get_access_token()
            self.leaked += [] if token is None else [token.token]
            return " ".join(self.leaked)

        self._app = server.streamable_http_app(json_response=True)

    def reset(self) -> None:
        """Be as new."""
        self.accounts.reset()
        self.answers.clear()
        self.paths.clear()
        self.leaked.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.paths.append(scope["path"])
        app = self.answers.get(scope.get("path", ""), self._app)
        await app(scope, receive, send)


@contextmanager
def protected() -> Iterator[Protected]:
    """Serve on a free port, in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Protected(listener.getsockname()[1])
    web = uvicorn.Server(
        uvicorn.Config(server, log_config=None, access_log=False, timeout_graceful_shutdown=0)
    )
    thread = threading.Thread(target=web.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        web.should_exit = True
        thread.join()
