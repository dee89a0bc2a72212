"""Serve over streamable HTTP, to clients with a token."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import anyio
import uvicorn
from mcp.server.streamable_http_manager import DEFAULT_MAX_REQUEST_BODY_SIZE, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse, Response

from halflap.core.errors import ServeError, UsageError
from halflap.core.json_bounds import TooManyPartsError, check_parts
from halflap.core.text import visible
from halflap.gateway import Gateway
from halflap.server.audit import Audit, Refusals
from halflap.server.connections import Connections
from halflap.server.front import Front
from halflap.server.guard import Guard, Page, allowed_hosts, error_response, is_loopback, page_hosts
from halflap.server.metrics import prometheus
from halflap.server.serve import run_until_stopped
from halflap.server.tokens import PRINCIPAL, Tokens, configured_tokens

if TYPE_CHECKING:
    from anyio.abc import TaskGroup, TaskStatus
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from halflap.config import Config
    from halflap.server.serve import Load

MakePage: TypeAlias = "Callable[[Gateway, Tokens, frozenset[str]], Page]"

PATH = "/mcp"
METRICS = "/metrics"
_SERVER_PATH = re.compile(r"/servers/(.+)/mcp")
_CHECKED_BY_GUARD = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""The guard checks Host and Origin, for every path."""
_LAST_PORT = 65535
_BACKLOG = 128
_MAX_BODY_PARTS = 100_000
"""The library parses and copies bodies in the event loop, which blocks all other requests."""


def parse_address(address: str) -> tuple[str, int]:
    """Parse `host:port`, `:port`, or `port`; the default host is this machine alone."""
    host, _, port = address.rpartition(":")
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > _LAST_PORT:
        raise UsageError(f"{address!r} is not an address to listen at. Write host:port, like 127.0.0.1:8765.")
    return host.strip("[]") or "127.0.0.1", int(port)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or "it is not the name of a machine"
        taken = isinstance(error, OSError) and error.errno in {errno.EADDRINUSE, errno.EACCES}
        what = "Choose another port." if taken else "Choose an address of this machine, like 127.0.0.1."
        raise ServeError(f"Cannot listen at {host}:{port}: {why}. {what}") from error
    # Accepted connections inherit it. asyncio sets it only in some cases; without it, answers are delayed by 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def run_http(
    config: Config,
    address: str,
    say: Callable[[str], None],
    load: Load | None = None,
    make_page: MakePage | None = None,
) -> None:
    """Serve any number of clients over HTTP until stopped.

    `say` gets the address and where the token is. `load` reads the configuration again after a change. `make_page`
    creates the web page from the gateway, the tokens, and the host names under which it is served.
    """
    host, port = parse_address(address)
    listener = bind(host, port)
    hashes, about_tokens = configured_tokens(config)
    tokens = Tokens(hashes)
    audit = Audit(config.data_dir / "audit.jsonl" if config.http.audit else None)
    gateway = Gateway(config)
    front = Front(gateway, audit=audit)
    page, hosts = None, page_hosts(host, config)
    if make_page is not None and hosts:
        page = await asyncio.to_thread(make_page, gateway, tokens, hosts)

    def load_with_tokens() -> Config:
        assert load is not None
        changed = load()
        loop.call_soon_threadsafe(tokens.replace, configured_tokens(changed)[0])
        return changed

    def announce() -> None:
        url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        say(f"Serving at {url}{PATH}")
        if page is not None:
            say(page.invite(url))
        if not is_loopback(host):
            say(
                "Other machines can reach this address, and traffic is not encrypted: put a proxy with TLS in front."
            )
        say(about_tokens)

    loop = asyncio.get_running_loop()
    serving = serve_http(gateway, front, listener, tokens, audit=audit, on_ready=announce, page=page)
    try:
        await run_until_stopped(gateway, front, serving, None if load is None else load_with_tokens)
    finally:
        await asyncio.to_thread(audit.close)


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
    """Serve on a socket until cancelled."""
    config = gateway.config.http
    refusals = Refusals(audit)
    hosts = allowed_hosts(listener.getsockname()[0], config)
    async with anyio.create_task_group() as sessions:
        endpoints = Endpoints(gateway, front, refusals, audit, sessions)
        web = uvicorn.Server(
            uvicorn.Config(
                Guard(endpoints, tokens, hosts, config.allowed_origins, refusals, page=page),
                http=Connections(refusals).protocol,  # type: ignore[arg-type]  # called like the class
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=3,
                # The guard answers WebSocket requests like all others.
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
    """`/mcp` for all servers, `/servers/<name>/mcp` for each one, and `/metrics`."""

    def __init__(
        self, gateway: Gateway, front: Front, refusals: Refusals, audit: Audit, sessions: TaskGroup
    ) -> None:
        self._gateway = gateway
        self._refusals = refusals
        self._audit = audit
        self._sessions = sessions
        self._fronts = {"": front}
        """By server; the front of all servers has an empty name."""
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
            app = error_response(404, "server-not-found", f"There is no server {visible(name, 100)!r}.")
        else:
            try:
                receive = await _with_few_parts(receive) if scope["method"] == "POST" else receive
            except TooManyPartsError:
                message = f"The body has more than {_MAX_BODY_PARTS:,} values. Send large data as text."
                app = error_response(413, "http-body", message)
            else:
                app = (await self._manager(name)).handle_request
        await app(scope, receive, self._audit.refusals_of(scope, send))

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
    """Receive a body and return a `receive` that replays it; raise `TooManyPartsError` if it has too many values."""
    received: deque[Message] = deque()
    body = bytearray()
    # The library refuses larger bodies.
    while len(body) <= DEFAULT_MAX_REQUEST_BODY_SIZE:
        message = await receive()
        received.append(message)
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    check_parts(bytes(body), _MAX_BODY_PARTS)

    async def replay() -> Message:
        return received.popleft() if received else await receive()

    return replay
