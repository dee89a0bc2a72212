"""The checks on every HTTP request before it is answered: Host, Origin and bearer token."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, Protocol

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from halflap.server.tokens import PRINCIPAL, Tokens, bearer_token

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from halflap.config import Config, HttpConfig
    from halflap.core.codes import HttpCode
    from halflap.server.audit import Refusals

    Reason = Literal["host", "origin", "token"]

_HOST = re.compile(r"(?P<name>[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    return host in _LOOPBACK or host.startswith("127.")


def allowed_hosts(host: str, config: HttpConfig) -> frozenset[str]:
    """Return the accepted host names: the address's own, this machine's, and the configured ones."""
    own = {host} if host not in {"0.0.0.0", "::"} else set()  # noqa: S104 -- compared, not bound
    return frozenset(name.lower() for name in (*_LOOPBACK, *own, *config.allowed_hosts))


def page_hosts(host: str, config: Config) -> frozenset[str]:
    """Return the host names under which the web page is served; empty if it is not."""
    if config.web.remote:
        return allowed_hosts(host, config.http)
    return _LOOPBACK if host in _LOOPBACK else frozenset()


class Page(Protocol):
    """A web page: an application with its own sign-in, which answers some paths."""

    def owns(self, path: str) -> bool: ...

    def invite(self, url: str) -> str:
        """Return a message with a link for the person who serves the page at this address."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Guard:
    """Accepts a request only with the right Host, an acceptable Origin, and a token, and notes its principal.

    Paths of the web page need no token: it has its own guard.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        hosts: frozenset[str],
        origins: tuple[str, ...],
        refusals: Refusals,
        *,
        page: Page | None = None,
    ) -> None:
        self._app = app
        self._page = page
        self._refusals = refusals
        self._tokens = tokens
        self._hosts = hosts
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return None
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or _host_name(hosts[0]) not in self._hosts:
            app = self._refuse("host", scope)
        elif len(origins) > 1 or (origins and not self._is_allowed(origins[0])):
            app = self._refuse("origin", scope)
        elif self._page is not None and self._page.owns(scope["path"]):
            app = self._page
        elif (principal := self._principal(headers)) is None:
            app = self._refuse("token", scope)
        else:
            # The library lets only the user who opened a session use it.
            user = AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))
            with self._tokens.while_valid(principal):
                return await self._app({**scope, PRINCIPAL: principal, "user": user}, receive, send)
        return await app(scope, receive, send)

    def _refuse(self, reason: Reason, scope: Scope) -> ASGIApp:
        self._refusals.add(reason, (scope.get("client") or ["unknown"])[0], scope["path"])
        return _refusal(reason)

    def _principal(self, headers: Headers) -> str | None:
        given = headers.getlist("authorization")
        token = bearer_token(given[0].encode("latin-1")) if len(given) == 1 else None
        return None if token is None else self._tokens.owner(token)

    def _is_allowed(self, origin: str) -> bool:
        origin = origin.lower().rstrip("/")
        scheme, _, host = origin.partition("://")
        is_own = scheme in {"http", "https"} and _host_name(host) in _LOOPBACK
        return origin in self._origins or is_own


def _host_name(host: str) -> str:
    """Return the name in a Host header; empty if it is malformed."""
    found = _HOST.fullmatch(host)
    return "" if found is None else found["name"].strip("[]").lower()


def _refusal(reason: Reason) -> Response:
    if reason == "host":
        message = "This Host is not accepted. To accept it, add it to `http.allowed_hosts`."
        return error_response(421, "http-host", message)
    if reason == "origin":
        message = "This Origin is not accepted. To accept it, add it to `http.allowed_origins`."
        return error_response(403, "http-origin", message)
    message = "Send the header `Authorization: Bearer <token>`; `halflap serve` prints where the token is."
    response = error_response(401, "http-token", message)
    response.headers["www-authenticate"] = 'Bearer realm="halflap"'
    return response


def error_response(status: int, code: HttpCode | Literal["server-not-found"], message: str) -> Response:
    return JSONResponse({"error": True, "code": code, "message": message}, status)
