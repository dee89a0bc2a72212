"""Talk to a server over streamable HTTP or the older HTTP with SSE."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2
from mcp.client import streamable_http
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from halflap.core.errors import SignInError, UpstreamUnavailableError
from halflap.core.text import visible
from halflap.upstream.connection import (
    LOST,
    MAX_MESSAGE_BYTES,
    NOT_SENT,
    REFUSED,
    TOO_LARGE,
    UNUSABLE,
    Connection,
    Failure,
)
from halflap.upstream.json_rpc import read_message

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.upstream.signin import SignIn

_CONNECT_SECONDS = 30.0
_SILENCE_SECONDS = 3600.0
"""How long a stream may be silent. Calls have their own, shorter limits."""
_GOODBYE_SECONDS = 1.5
"""How long closing waits for the server to end our session."""
_MAX_SHOWN = 200
_BODY_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class _Reader:
    """Reads messages with our own reader: otherwise a tool with a deep schema or half an emoji would cost its whole page."""

    @staticmethod
    def validate_json(data: str | bytes, **settings: Any) -> JSONRPCMessage:
        message = read_message(data.encode() if isinstance(data, str) else data)
        return jsonrpc_message_adapter.validate_json(data, **settings) if message is None else message


# The SDK's transport has no hook for this.
streamable_http.jsonrpc_message_adapter = _Reader  # type: ignore[assignment, attr-defined]


class _TooLargeError(Exception):
    """A body has more than `MAX_MESSAGE_BYTES`."""


class _Client(httpx2.AsyncClient):
    """Turns a request's failure into a JSON-RPC error with a code of our own, in place of the answer.

    A session serves many calls: one that cannot be delivered must fail alone, and its caller must learn whether it
    was sent. The SDK's transport would end the whole session instead. It also reads bodies of any size.
    """

    def __init__(
        self, server: ServerConfig, connection: Connection, sign_in: SignIn | None, *, is_sse: bool
    ) -> None:
        # A variable without a value leaves `Bearer ` behind, and a header cannot end with a blank.
        headers = {name: value.strip() for name, value in server.headers.items()}
        timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_SILENCE_SECONDS)
        super().__init__(headers=headers, timeout=timeout, auth=sign_in)
        self._connection = connection
        self._sign_in = sign_in
        self._is_sse = is_sse

    async def send(self, request: httpx2.Request, **settings: Any) -> httpx2.Response:
        if request.method == "DELETE":
            with suppress(SignInError, httpx2.TransportError), anyio.move_on_after(_GOODBYE_SECONDS):
                await (await super().send(request, **settings)).aclose()
            return httpx2.Response(200, request=request)
        try:
            response = await super().send(request, **settings)
            try:
                problem = self._problem(request, response)
                if problem is None:
                    return await self._accept(request, response)
            except BaseException:
                await response.aclose()
                raise
            await response.aclose()
        except httpx2.TransportError as error:
            problem = _explain_transport(request, error)
        except SignInError as error:
            problem = NOT_SENT, Failure("not-reached", str(error))
        except _TooLargeError:
            problem = UNUSABLE, Failure("answer-unusable", TOO_LARGE)
        return self._failed(request, *problem)

    async def _accept(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Return a response with its body read, unless it is a stream of events, whose size the SDK limits."""
        if request.method == "POST":
            self._connection.failure = None
        if not response.is_error and not response.is_redirect and _kind(response) == "text/event-stream":
            return response
        body = bytearray()
        if _kind(response) == "application/json" and not self._is_sse:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_MESSAGE_BYTES:
                    raise _TooLargeError
        await response.aclose()
        headers = [(name, value) for name, value in response.headers.items() if name not in _BODY_HEADERS]
        read = httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=request)
        read.next_request = response.next_request
        return read

    def _problem(self, request: httpx2.Request, response: httpx2.Response) -> tuple[int, Failure] | None:
        """Return the code and the failure that a response's status and type stand for, if any."""
        status = response.status_code
        if status in {401, 403}:
            return REFUSED, Failure("sign-in-needed", _explain_refusal(response, self._sign_in))
        if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            message = f"the proxy{_proxy(request)} answered {_status(response)}."
            return NOT_SENT, Failure("proxy-failed", message)
        if status == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
            return NOT_SENT, Failure("not-reached", "it no longer knows our session; it was restarted.")
        # Over SSE the answer comes as an event: what the POST itself returns does not matter.
        if request.method != "POST" or (self._is_sse and not response.is_error):
            return None
        # What a server of the older transport answers to a POST at the address of its event stream.
        self._connection.only_sse |= status in {400, 404, 405}
        foreign = _explain_foreign(request, response)
        return None if foreign is None else (UNUSABLE, Failure("not-reached", foreign))

    def _failed(self, request: httpx2.Request, code: int, failure: Failure) -> httpx2.Response:
        self._connection.failure = failure
        if self._is_sse or (request.method == "GET" and code == NOT_SENT):
            self._connection.closed.set()
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": failure.message}}
        return httpx2.Response(503, json=error, request=request)


def _explain_transport(request: httpx2.Request, error: httpx2.TransportError) -> tuple[int, Failure]:
    reason = str(error) or type(error).__name__
    tls = _tls_error(error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        message = f"the certificate of {request.url.host} was not accepted: {tls.verify_message}."
        return NOT_SENT, Failure("certificate-not-accepted", message)
    if isinstance(error, httpx2.ProxyError):
        message = f"the proxy{_proxy(request)} refused the connection: {reason}."
        return NOT_SENT, Failure("proxy-failed", message)
    if not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return LOST, Failure("not-reached", f"the connection broke: {reason}.")
    if tls is None and (proxy := _proxy(request)):
        return NOT_SENT, Failure("proxy-failed", f"the proxy{proxy} could not be reached: {reason}.")
    # Without what may be secret in it.
    address = request.url.copy_with(userinfo=b"", query=None, fragment=None)
    return NOT_SENT, Failure("not-reached", f"it cannot be reached at {address}: {reason}.")


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _proxy(request: httpx2.Request) -> str:
    """Return the proxy that the environment sets for a request, as ` host:port`; empty if there is none."""
    proxies = getproxies()
    proxy = proxies.get(request.url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(request.url.host):
        return ""
    # Without its password.
    return f" {visible(proxy.rpartition('@')[2].rpartition('://')[2], _MAX_SHOWN)}"


def _explain_foreign(request: httpx2.Request, response: httpx2.Response) -> str | None:
    """Return what shows that no MCP server answered, if anything does."""
    kind = _kind(response)
    if kind == "application/json":
        return None
    if response.is_redirect:
        target = request.url.join(response.headers.get("location", "")).copy_with(query=None, fragment=None)
        return (
            f"it redirects to {visible(str(target), _MAX_SHOWN)}. If that is the server, use it as `url`; if it is "
            "a page to sign in, the server needs a token under `headers:`."
        )
    if response.is_error:
        return f"it answered {_status(response)}. Check `url`, and that the server is in order."
    if response.status_code != HTTPStatus.ACCEPTED and kind not in {"", "text/event-stream"}:
        return (
            f"it answered {visible(kind, _MAX_SHOWN)}, which is not MCP. Check `url`: it may be a web page."
        )
    return None


def _explain_refusal(response: httpx2.Response, sign_in: SignIn | None) -> str:
    refused = f"it answered {_status(response)}"
    if sign_in is None:
        return (
            f"{refused}: it does not accept the `Authorization` header that it was sent. It may have expired or lack a "
            "permission: renew it, and check the variables that the configuration uses in it."
        )
    if response.status_code == HTTPStatus.FORBIDDEN:
        return f"{refused}: it needs more permissions than you have. Run `{sign_in.command}` to ask for them."
    if sign_in.server.headers:
        return (
            f"{refused}: it does not accept the `headers:` that it was sent, or needs you to sign in. Renew them, or run "
            f"`{sign_in.command}`."
        )
    return (
        f"{refused}: it needs you to sign in. Run `{sign_in.command}`, or set a token as `headers:` "
        "(for example `Authorization: Bearer ${TOKEN}`) in the configuration."
    )


def _kind(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _status(response: httpx2.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}".rstrip()


@asynccontextmanager
async def http_streams(
    server: ServerConfig, connection: Connection, sign_in: SignIn | None, *, is_sse: bool
) -> AsyncIterator[Any]:
    """Connect over streamable HTTP or, with `is_sse`, by one stream of events for answers and POSTs for requests."""
    assert server.url is not None
    client = await _open_client(server, connection, sign_in, is_sse=is_sse)
    if is_sse:
        async with sse_client(server.url, httpx_client_factory=lambda *_, **__: client) as streams:
            yield streams
        return
    streaming = streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES)
    async with client, streaming as streams:
        yield streams


async def _open_client(
    server: ServerConfig, connection: Connection, sign_in: SignIn | None, *, is_sse: bool
) -> _Client:
    try:
        # In a thread: it reads the machine's certificates.
        return await asyncio.to_thread(_Client, server, connection, sign_in, is_sse=is_sse)
    except OSError as error:
        named = " and ".join(name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name))
        message = f"the certificates in {named or 'the system'} cannot be read: {error}."
        connection.failure = Failure("certificate-not-accepted", message)
    except (ImportError, ValueError) as error:
        connection.failure = Failure("proxy-failed", f"the proxy of the environment cannot be used: {error}")
    raise UpstreamUnavailableError(server.name, connection.failure.message)
