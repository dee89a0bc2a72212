"""Serve over streamable HTTP: to who has the token, from an address that is ours."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import secrets
import socket
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from halflap.core.errors import ServeError, TokenFileError, UsageError
from halflap.core.text import visible
from halflap.server.metrics import WithMetrics
from halflap.server.principal import PRINCIPAL, bearer_token
from halflap.server.single import SingleFront

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from halflap.config import Config, HttpConfig
    from halflap.core.codes import HttpCode
    from halflap.gateway import Gateway
    from halflap.server.app import Front

__all__ = ["Guard", "Page", "Tokens", "bind", "keep_token", "page_hosts", "parse_address", "serve_http"]

PATH = "/mcp"
_SERVER_PATH = re.compile(r"/servers/(.+)/mcp")
_CHECKED_BY_GUARD = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""The guard checks Host and Origin, for every path."""
_HOST = re.compile(r"(?P<name>[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_PORT = re.compile(r"[0-9]{1,5}")
_LAST_PORT = 65535
_BACKLOG = 128


def parse_address(address: str) -> tuple[str, int]:
    """Read `host:port`, `:port`, or `port`; without a host it is this machine alone."""
    host, _, port = address.rpartition(":")
    if not _PORT.fullmatch(port) or int(port) > _LAST_PORT:
        raise UsageError(f"{address!r} is not an address to listen at. Write host:port, like 127.0.0.1:8765.")
    return host.strip("[]") or "127.0.0.1", int(port)


def keep_token(folder: Path) -> tuple[str, Path, bool]:
    """Return the bearer token, its file, and whether it is new."""
    file = folder / "http_token"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = _make(file, secrets.token_urlsafe(32))
        token = file.read_text(encoding="ascii").strip()
        file.chmod(0o600)
    except OSError as error:
        raise TokenFileError(
            f"The token cannot be kept in {file}: {error.strerror}. Make that a file which you can read and write."
        ) from error
    except UnicodeDecodeError:
        token = ""
    if not token.isprintable() or not token:
        raise TokenFileError(f"{file} holds no token. Delete it: the next start makes another.")
    return token, file, made


def _make(file: Path, token: str) -> bool:
    """Write a token where there is none yet; of two who do so at once, one wins and both use the same."""
    empty = file.exists()
    if empty and file.stat().st_size > 0:
        return False
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=".http_token.")
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(token + "\n")
        if empty:
            Path(temporary).replace(file)
        else:
            os.link(temporary, file)
    except FileExistsError:
        return False
    finally:
        Path(temporary).unlink(missing_ok=True)
    return True


def bind(host: str, port: int) -> socket.socket:
    """Take the address, or say why it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets whose protocol is spelled out; without it every answer waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except (OSError, UnicodeError) as error:
        listener.close()
        why = (error.strerror if isinstance(error, OSError) else None) or "this is no name of a machine"
        taken = isinstance(error, OSError) and error.errno in {errno.EADDRINUSE, errno.EACCES}
        what = "Choose another port." if taken else "Choose an address of this machine, like 127.0.0.1."
        raise ServeError(f"Cannot listen at {host}:{port}: {why}. {what}") from error
    return listener


class Page(Protocol):
    """A web page: an application that signs people in by itself, and answers some paths."""

    def owns(self, path: str) -> bool: ...

    def invite(self, url: str) -> str:
        """Return what to tell the person who serves it at this address."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Tokens:
    """The tokens of all principals."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = {principal: token.encode() for principal, token in tokens.items()}

    def owner(self, token: bytes) -> str | None:
        # Each is looked at, found or not: how long it takes says nothing about whose is nearly right.
        found = [name for name, known in self._tokens.items() if secrets.compare_digest(token, known)]
        return found[0] if found else None

    def stamp(self, principal: str) -> str | None:
        """Return what changes when the principal's token does; None if it has none."""
        token = self._tokens.get(principal)
        return None if token is None else sha256(token).hexdigest()


async def serve_http(
    front: Front,
    gateway: Gateway,
    listener: socket.socket,
    tokens: Mapping[str, str],
    *,
    on_ready: Callable[[], None],
    page: Page | None = None,
) -> None:
    """Serve until told to stop, those whose principals have these tokens."""
    config = gateway.config.http
    application = front.server.streamable_http_app(
        streamable_http_path=PATH, transport_security=_CHECKED_BY_GUARD
    )
    endpoints = ServerEndpoints(WithMetrics(application, gateway.metrics), gateway)
    hosts = allowed_hosts(listener.getsockname()[0], config)
    guard = Guard(endpoints, tokens, hosts, config.allowed_origins, page)
    web = uvicorn.Server(
        uvicorn.Config(
            guard,
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=3,
            # Who asks for a web socket is answered like everybody else, by the guard.
            ws="none",
            proxy_headers=False,
            server_header=False,
        )
    )
    on_ready()
    try:
        await web.serve(sockets=[listener])
    finally:
        await endpoints.close()


class ServerEndpoints:
    """`/servers/<name>/mcp` for each server by itself, opened with its first request; other paths are the application's."""

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._gateway = gateway
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._fronts: list[SingleFront] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = _SERVER_PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
        elif (manager := await self._manager(found[1])) is None:
            await _refuse(send, 404, "server-not-found", f"There is no server {visible(found[1], 100)!r}.")
        else:
            await manager.handle_request(scope, receive, send)

    async def _manager(self, name: str) -> StreamableHTTPSessionManager | None:
        if not any(server.name == name and not server.disabled for server in self._gateway.config.servers):
            return None
        async with self._lock:
            if name not in self._managers:
                front = SingleFront(self._gateway, name)
                manager = StreamableHTTPSessionManager(front.server, security_settings=_CHECKED_BY_GUARD)
                is_open = asyncio.Event()
                self._tasks.append(asyncio.create_task(_run(manager, is_open)))
                await is_open.wait()
                self._fronts.append(front)
                self._managers[name] = manager
        return self._managers[name]

    async def close(self) -> None:
        for front in self._fronts:
            front.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _run(manager: StreamableHTTPSessionManager, is_open: asyncio.Event) -> None:
    async with manager.run():
        is_open.set()
        await asyncio.Event().wait()


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
    """Lets a request through only with the right Host, an acceptable Origin, and a token; says whose it is.

    Paths of the page need no token: it has its own guard.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Mapping[str, str],
        hosts: frozenset[str],
        origins: tuple[str, ...] | frozenset[str],
        page: Page | None = None,
    ) -> None:
        self._app = app
        self._page = page
        self._tokens = Tokens(tokens)
        self._hosts = hosts
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        refusal, principal = self._refusal(headers), self._principal(headers)
        if refusal is not None:
            await _refuse(send, *refusal)
        elif self._page is not None and self._page.owns(scope["path"]):
            await self._page(scope, receive, send)
        elif principal is None:
            await _refuse(
                send,
                401,
                "http-token",
                "Send the header `Authorization: Bearer <token>`; `halflap serve` says where it is.",
            )
        else:
            # The library lets only the user who opened a session act in it.
            user = AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))
            await self._app({**scope, PRINCIPAL: principal, "user": user}, receive, send)

    def _refusal(self, headers: dict[bytes, list[bytes]]) -> tuple[int, HttpCode, str] | None:
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or _host_name(hosts[0]) not in self._hosts:
            return (
                421,
                "http-host",
                "This Host is not one of ours. Name it in `http.allowed_hosts` if it should be.",
            )
        origins = headers.get(b"origin", [])
        if len(origins) > 1 or (origins and not self._knows_origin(origins[0])):
            return (
                403,
                "http-origin",
                "This Origin may not ask. Name it in `http.allowed_origins` if it should.",
            )
        return None

    def _principal(self, headers: dict[bytes, list[bytes]]) -> str | None:
        given = headers.get(b"authorization", [])
        token = bearer_token(given[0]) if len(given) == 1 else None
        return None if token is None else self._tokens.owner(token)

    def _knows_origin(self, origin: bytes) -> bool:
        text = origin.decode("latin-1").lower().rstrip("/")
        if text in self._origins:
            return True
        scheme, separator, host = text.partition("://")
        return (
            bool(separator)
            and scheme in {"http", "https"}
            and _host_name(host.encode("latin-1")) in _LOOPBACK
        )


def _host_name(host: bytes) -> str:
    """Read a host and port, and nothing that only looks like one."""
    found = _HOST.fullmatch(host.decode("latin-1"))
    return "" if found is None else found["name"].strip("[]").lower()


async def _refuse(send: Send, status: int, code: str, message: str) -> None:
    body = json.dumps({"error": True, "code": code, "message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:  # noqa: PLR2004 -- only this one asks for credentials
        headers.append((b"www-authenticate", b'Bearer realm="halflap"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
