"""Serve over streamable HTTP, to clients with a token."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

import anyio
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import DEFAULT_MAX_REQUEST_BODY_SIZE, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse, PlainTextResponse, Response

from halflap.core.errors import ServeError, UsageError
from halflap.core.json_bounds import TooManyPartsError, check_parts
from halflap.core.text import visible
from halflap.server.connections import Connections, Refusals
from halflap.server.front import Front
from halflap.server.metrics import prometheus
from halflap.server.tokens import PRINCIPAL, Tokens, bearer_token

if TYPE_CHECKING:
    from anyio.abc import TaskGroup, TaskStatus
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from halflap.config import Config, HttpConfig
    from halflap.core.codes import HttpCode
    from halflap.gateway import Gateway
    from halflap.server.audit import Audit

PATH = "/mcp"
METRICS = "/metrics"
_SERVER_PATH = re.compile(r"/servers/(.+)/mcp")
_CHECKED_BY_GUARD = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""The guard checks Host and Origin, for every path."""
_HOST = re.compile(r"(?P<name>[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_LAST_PORT = 65535
_WRONG_HOST = 421
_BACKLOG = 128
_MAX_BODY_PARTS = 100_000
"""The library parses bodies, and copies what is in them, while all others wait."""


def parse_address(address: str) -> tuple[str, int]:
    """Read `host:port`, `:port`, or `port`; without a host it is this machine alone."""
    host, _, port = address.rpartition(":")
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > _LAST_PORT:
        raise UsageError(f"{address!r} is not an address to listen at. Write host:port, like 127.0.0.1:8765.")
    return host.strip("[]") or "127.0.0.1", int(port)


def bind(host: str, port: int) -> socket.socket:
    """Listen at an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets whose protocol is spelled out; without it every answer waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except (OSError, UnicodeError) as error:
        listener.close()
        why = (error.strerror if isinstance(error, OSError) else None) or "it is not the name of a machine"
        taken = isinstance(error, OSError) and error.errno in {errno.EADDRINUSE, errno.EACCES}
        what = "Choose another port." if taken else "Choose an address of this machine, like 127.0.0.1."
        raise ServeError(f"Cannot listen at {host}:{port}: {why}. {what}") from error
    return listener


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    return host in _LOOPBACK or host.startswith("127.")


class Page(Protocol):
    """A web page: an application that signs people in by itself, and answers some paths."""

    def owns(self, path: str) -> bool: ...

    def invite(self, url: str) -> str:
        """Return what to tell the person who serves it at this address."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


async def serve_http(
    gateway: Gateway,
    front: Front,
    listener: socket.socket,
    tokens: Tokens,
    *,
    audit: Audit,
    on_ready: Callable[[], None],
    page: Page | None = None,
) -> None:
    """Serve until cancelled, principals by their tokens."""
    config = gateway.config.http
    refusals = Refusals(audit)
    hosts = allowed_hosts(listener.getsockname()[0], config)
    async with anyio.create_task_group() as sessions:
        endpoints = Endpoints(gateway, front, refusals, audit, sessions)
        web = uvicorn.Server(
            uvicorn.Config(
                Guard(endpoints, tokens, hosts, config.allowed_origins, refusals, page=page),
                http=Connections(refusals).protocol,  # type: ignore[arg-type]  # called as the class would be
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=3,
                # A request for a web socket is answered by the guard, like all others.
                ws="none",
                proxy_headers=False,
                server_header=False,
            )
        )
        on_ready()
        try:
            await web.serve(sockets=[listener])
        finally:
            endpoints.close()
            sessions.cancel_scope.cancel()


class Endpoints:
    """`/mcp` for all servers, `/servers/<name>/mcp` for each by itself, and `/metrics`."""

    def __init__(
        self, gateway: Gateway, front: Front, refusals: Refusals, audit: Audit, sessions: TaskGroup
    ) -> None:
        self._gateway = gateway
        self._refusals = refusals
        self._audit = audit
        self._sessions = sessions
        self._fronts = {"": front}
        """By the name of the server; the one of all servers has none."""
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].rstrip("/")
        single = _SERVER_PATH.fullmatch(path)
        name = "" if single is None else single[1]
        app: ASGIApp
        if path == METRICS and await self._may_read_metrics(scope[PRINCIPAL]):
            app = await self._metrics(scope["method"])
        elif single is None and path != PATH:
            app = PlainTextResponse("Not Found", 404)
        elif name and not await self._serves(name, scope[PRINCIPAL]):
            app = _refusal(404, "server-not-found", f"There is no server {visible(name, 100)!r}.")
        else:
            try:
                receive = await _with_few_parts(receive) if scope["method"] == "POST" else receive
            except TooManyPartsError:
                message = f"The body has more than {_MAX_BODY_PARTS:,} values. Send large data as text."
                app = _refusal(413, "http-body", message)
            else:
                app = (await self._manager(name)).handle_request
        await app(scope, receive, send)

    async def _may_read_metrics(self, principal: str) -> bool:
        profile = (await self._gateway.prepare()).calls.policy.profile_of(principal)
        return profile is None or profile.metrics

    async def _serves(self, name: str, principal: str) -> bool:
        return name in (await self._gateway.seen_by(principal).prepare()).seen.configured

    async def _manager(self, name: str) -> StreamableHTTPSessionManager:
        """Return the sessions of one endpoint, opened with its first request."""
        async with self._lock:
            if name not in self._managers:
                front = self._fronts.get(name) or Front(self._gateway, name, self._audit)
                self._fronts[name] = front
                manager = StreamableHTTPSessionManager(front.server, security_settings=_CHECKED_BY_GUARD)
                await self._sessions.start(_run, manager)
                self._managers[name] = manager
        return self._managers[name]

    async def _metrics(self, method: str) -> Response:
        if method not in {"GET", "HEAD"}:
            return Response(status_code=405, headers={"allow": "GET, HEAD"})
        text = prometheus(await self._gateway.metrics(), self._refusals.counts)
        kind = "text/plain; version=0.0.4; charset=utf-8"
        content = text.encode(errors="backslashreplace")
        return Response(content, media_type=kind, headers={"cache-control": "no-store"})

    def close(self) -> None:
        for front in self._fronts.values():
            front.close()


async def _run(manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None]) -> None:
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()


async def _with_few_parts(receive: Receive) -> Receive:
    """Receive a body, raise `TooManyPartsError` if it has too many, and return what receives it once more."""
    received: deque[Message] = deque()
    body = bytearray()
    # The library refuses a body of more bytes by itself.
    while len(body) <= DEFAULT_MAX_REQUEST_BODY_SIZE:
        message = await receive()
        received.append(message)
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    check_parts(bytes(body), _MAX_BODY_PARTS)

    async def again() -> Message:
        return received.popleft() if received else await receive()

    return again


def allowed_hosts(host: str, config: HttpConfig) -> frozenset[str]:
    """Return the host names that are accepted: our own, this machine's, and the configured ones."""
    own = {host} if host not in {"0.0.0.0", "::"} else set()  # noqa: S104 -- compared, not bound
    return frozenset(name.lower() for name in (*_LOOPBACK, *own, *config.allowed_hosts))


def page_hosts(host: str, config: Config) -> frozenset[str]:
    """Return the host names under which the page is served; empty if it is not."""
    if config.web.remote:
        return allowed_hosts(host, config.http)
    return _LOOPBACK if host in _LOOPBACK else frozenset()


class Guard:
    """Accepts a request only with the right Host, an acceptable Origin, and a token, and notes whose it is.

    Paths of the page need no token: it has its own guard.
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
            return
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        refusal, principal = self._refusal(headers), self._principal(headers)
        address = (scope.get("client") or ["unknown"])[0]
        if refusal is not None:
            self._refusals.add(
                "host" if refusal.status_code == _WRONG_HOST else "origin", address, scope["path"]
            )
            await refusal(scope, receive, send)
        elif self._page is not None and self._page.owns(scope["path"]):
            await self._page(scope, receive, send)
        elif principal is None:
            message = "Send the header `Authorization: Bearer <token>`; `halflap serve` says where it is."
            refusal = _refusal(401, "http-token", message)
            self._refusals.add("token", address, scope["path"])
            refusal.headers["www-authenticate"] = 'Bearer realm="halflap"'
            await refusal(scope, receive, send)
        else:
            # The library lets only the user who opened a session act in it.
            user = AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))
            with self._tokens.while_valid(principal):
                await self._app({**scope, PRINCIPAL: principal, "user": user}, receive, send)

    def _refusal(self, headers: dict[bytes, list[bytes]]) -> Response | None:
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or _host_name(hosts[0]) not in self._hosts:
            message = "This Host is not one of ours. Name it in `http.allowed_hosts` if it should be."
            return _refusal(_WRONG_HOST, "http-host", message)
        origins = headers.get(b"origin", [])
        if len(origins) > 1 or (origins and not self._knows_origin(origins[0])):
            message = "This Origin may not ask. Name it in `http.allowed_origins` if it should."
            return _refusal(403, "http-origin", message)
        return None

    def _principal(self, headers: dict[bytes, list[bytes]]) -> str | None:
        given = headers.get(b"authorization", [])
        token = bearer_token(given[0]) if len(given) == 1 else None
        return None if token is None else self._tokens.owner(token)

    def _knows_origin(self, origin: bytes) -> bool:
        text = origin.decode("latin-1").lower().rstrip("/")
        scheme, _, host = text.partition("://")
        is_own = scheme in {"http", "https"} and _host_name(host.encode("latin-1")) in _LOOPBACK
        return text in self._origins or is_own


def _host_name(host: bytes) -> str:
    """Read a host and port, and nothing that only looks like one."""
    found = _HOST.fullmatch(host.decode("latin-1"))
    return "" if found is None else found["name"].strip("[]").lower()


def _refusal(status: int, code: HttpCode | Literal["server-not-found"], message: str) -> Response:
    return JSONResponse({"error": True, "code": code, "message": message}, status)
