"""Talk to a server over streamable HTTP or the older HTTP with SSE."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import mcp_types as types
from mcp.client import streamable_http
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError

from halflap.core.text import visible
from halflap.upstream.message import read_message
from halflap.upstream.wire import LOST, NOT_SENT, REFUSED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from halflap.config import ServerConfig
    from halflap.upstream.wire import Wire

__all__ = ["http_streams", "sse_streams"]

MAX_EVENT_BYTES = 64 * 1024 * 1024
_CONNECT_SECONDS = 30.0
_SILENCE_SECONDS = 3600.0
"""How long a stream may say nothing. Calls have their own, shorter limits."""

_FAREWELL_SECONDS = 1.5
_ERROR = 400
_UNAUTHORISED = 401
_FORBIDDEN = 403
_GONE = 404
_ONLY_SSE = (400, 404, 405)
_TAKEN = 202
_LONGEST_SHOWN = 200
"""What a server of the older transport answers to a POST at its event stream's address."""


class _Reader:
    """What the library reads messages with and, for what that refuses, our own reading.

    One tool whose schema is deep would take all others of its page with it.
    """

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def validate_json(self, data: str | bytes, **settings: Any) -> Any:
        try:
            return self._adapter.validate_json(data, **settings)
        except ValidationError:
            try:
                message = read_message(data.encode() if isinstance(data, str) else data)
            except (ValueError, RecursionError):
                message = None
            if message is None:
                raise
            return message


# The transport has no seam for this. Nothing changes for what it reads by itself.
streamable_http.jsonrpc_message_adapter = _Reader(streamable_http.jsonrpc_message_adapter)  # type: ignore[assignment, attr-defined]


class _ReportingClient(httpx2.AsyncClient):
    """Tells what happened to a request instead of tearing the whole session down with it.

    A session serves many calls; one that cannot be delivered must fail alone, and the caller must
    learn whether it left us. So a failure becomes a JSON-RPC error of our own in place of the answer.
    """

    def __init__(self, wire: Wire, *, breaks: bool, headers: dict[str, str], **settings: Any) -> None:
        super().__init__(headers=headers, **settings)
        self._given = headers
        self._wire = wire
        self._breaks = breaks

    async def send(self, request: httpx2.Request, **settings: Any) -> httpx2.Response:
        if request.method == "DELETE":
            # A farewell: a courtesy that nobody waits long for.
            with anyio.move_on_after(_FAREWELL_SECONDS):
                return await super().send(request, **settings)
            return self._in_place_of(request, LOST, "it did not answer our farewell.")
        try:
            response = await super().send(request, **settings)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            return self._in_place_of(
                request, NOT_SENT, f"it cannot be reached at {_shown(request)}: {_words(error)}."
            )
        except httpx2.TransportError as error:
            return self._in_place_of(request, LOST, f"the connection broke: {_words(error)}.")
        told = self._judged(request, response)
        if told is not response:
            await response.aclose()
        return told

    def _judged(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Look at an answer's status; what says no more than that is put into words."""
        self._wire.wants_sign_in = response.status_code in {_UNAUTHORISED, _FORBIDDEN}
        if self._wire.wants_sign_in:
            return self._in_place_of(request, REFUSED, _turned_away(response, given=bool(self._given)))
        if response.status_code == _GONE and "mcp-session-id" in request.headers:
            return self._in_place_of(request, NOT_SENT, "it no longer knows our session; it was restarted.")
        if request.method == "POST" and response.status_code in _ONLY_SSE:
            self._wire.fallback_to_sse = True
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        tells = kind == "application/json"
        if request.method == "POST":
            self._wire.foreign = None if tells else _foreign(request, response, kind)
        if request.method == "POST" and response.status_code >= _ERROR and not tells:
            said = f"it answered {response.status_code} {response.reason_phrase}".rstrip()
            return self._in_place_of(request, types.INTERNAL_ERROR, f"{said}.")
        return response

    def _in_place_of(self, request: httpx2.Request, code: int, reason: str) -> httpx2.Response:
        self._wire.trouble = reason
        if self._breaks or (request.method == "GET" and code == NOT_SENT):
            self._wire.broken.set()
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": reason}}
        return httpx2.Response(503, json=error, request=request)


def _foreign(request: httpx2.Request, response: httpx2.Response, kind: str) -> str | None:
    """Say what an answer shows that no MCP server gives."""
    if response.is_redirect:
        to = str(request.url.join(response.headers.get("location", "")).copy_with(query=None, fragment=None))
        return (
            f"it sends to another address, {visible(to, _LONGEST_SHOWN)}. Check `url`: if that is the server, give it as `url`; "
            "if it is a page to sign in, it wants credentials under `headers:`."
        )
    if response.status_code >= _ERROR:
        said = f"{response.status_code} {response.reason_phrase}".rstrip()
        return f"it answered {said}. Check `url`, and that the server is in order."
    if response.status_code != _TAKEN and kind not in {"", "text/event-stream"}:
        return f"it answered {visible(kind, _LONGEST_SHOWN)}, which is not MCP. Check `url`: it may be a page for people."
    return None


def _turned_away(response: httpx2.Response, *, given: bool) -> str:
    """Say that a server wants credentials, or others than it was `given`, and how it gets them."""
    said = f"it answered {response.status_code} {response.reason_phrase}".rstrip()
    if given:
        return (
            f"{said}: it wants credentials, and does not take the `headers:` that it was sent. They may have run "
            "out, or lack a right: renew them, and look at what the configuration puts in their place."
        )
    challenge = response.headers.get("www-authenticate", "").lower()
    by_oauth = (
        " It offers to sign in by OAuth, which Halflap does not do by itself: get a token where you have your account."
        if "resource_metadata" in challenge or "authorization_uri" in challenge
        else ""
    )
    return (
        f"{said}: it wants credentials. Give them as `headers:` (for example `Authorization: Bearer ${{TOKEN}}`) in "
        f"the configuration.{by_oauth}"
    )


def _shown(request: httpx2.Request) -> str:
    """Give the address without what may be secret in it."""
    return str(request.url.copy_with(userinfo=b"", query=None, fragment=None))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


async def _client(server: ServerConfig, wire: Wire, *, breaks: bool) -> _ReportingClient:
    """Make the client in a thread: it reads the machine's certificates."""
    return await asyncio.to_thread(
        _ReportingClient,
        wire,
        breaks=breaks,
        # A variable with nothing in it leaves `Bearer ` behind, and a blank at the end is no part of a header.
        headers={name: value.strip() for name, value in server.headers.items()},
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_SILENCE_SECONDS),
    )


@asynccontextmanager
async def http_streams(server: ServerConfig, wire: Wire) -> AsyncIterator[Any]:
    """Connect by streamable HTTP."""
    assert server.url is not None
    async with (
        await _client(server, wire, breaks=False) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES) as streams,
    ):
        yield streams


@asynccontextmanager
async def sse_streams(server: ServerConfig, wire: Wire) -> AsyncIterator[Any]:
    """Connect by the older transport: one event stream for answers, POSTs for requests."""
    assert server.url is not None

    ready = await _client(server, wire, breaks=True)
    async with sse_client(
        server.url,
        httpx_client_factory=lambda *_, **__: ready,
    ) as streams:
        yield streams
