"""The transports streamable HTTP and, for older servers, HTTP with SSE."""

from __future__ import annotations

import asyncio
import os
import socket
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
from mcp.shared._httpx_utils import next_request_within_origin
from mcp_types import JSONRPCError, JSONRPCMessage

from halflap.core.errors import SignInError
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
from halflap.upstream.json_rpc import MALFORMED, TooLargeError, read_body, read_message

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.upstream.signin import SignIn

_CONNECT_SECONDS = 30.0
_SILENCE_SECONDS = 3600.0
"""Read timeout of streams. Calls have their own, shorter limits."""
_GOODBYE_SECONDS = 1.5
"""How long closing waits for the server to delete the session."""
_MAX_SHOWN = 200


class _Reader:
    """Uses our lenient reader. With the SDK's, one tool with a deep schema or half an emoji would lose its whole page."""

    @staticmethod
    def validate_json(data: str | bytes, **_: Any) -> JSONRPCMessage:
        message = read_message(data.encode() if isinstance(data, str) else data)
        if message is None:
            raise httpx2.StreamError(MALFORMED)
        return message


# The SDK's transport has no hook for this.
streamable_http.jsonrpc_message_adapter = _Reader  # type: ignore[assignment, attr-defined]


class _Client(httpx2.AsyncClient):
    """Turns a failed request into a JSON-RPC error answer with one of our own codes.

    A session serves many calls: one that cannot be delivered must fail alone, and its caller must learn whether it
    was sent. The SDK's transport would end the whole session instead, and read bodies of any size.
    """

    def __init__(
        self, server: ServerConfig, connection: Connection, sign_in: SignIn | None, *, is_sse: bool
    ) -> None:
        # An empty variable leaves `Bearer `, and a header cannot end with a space.
        headers = {name: value.strip() for name, value in server.headers.items()}
        timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_SILENCE_SECONDS)
        super().__init__(headers=headers, timeout=timeout, auth=sign_in)
        self._connection = connection
        self._sign_in = sign_in
        self._is_sse = is_sse

    async def send(self, request: httpx2.Request, **settings: Any) -> httpx2.Response:
        if request.method == "DELETE":
            with suppress(SignInError, httpx2.RequestError), anyio.move_on_after(_GOODBYE_SECONDS):
                await (await super().send(request, **settings)).aclose()
            return httpx2.Response(200, request=request)
        try:
            response = await super().send(request, **settings)
            # The SDK limits the size of events.
            if response.is_error or response.is_redirect or _kind(response) != "text/event-stream":
                await read_body(response, MAX_MESSAGE_BYTES if _kind(response) == "application/json" else 0)
            problem = self._problem(request, response)
            if problem is None:
                if request.method == "POST" and not response.is_error:
                    self._connection.failure = None
                return response
        except httpx2.RequestError as error:
            problem = _explain_transport(request, error)
        except SignInError as error:
            problem = NOT_SENT, Failure("not-reached", str(error))
        except TooLargeError:
            problem = UNUSABLE, Failure("answer-unusable", TOO_LARGE)
        code, self._connection.failure = problem
        if self._is_sse or (request.method == "GET" and code == NOT_SENT):
            self._connection.closed.set()
        answer = {"code": code, "message": self._connection.failure.message}
        return httpx2.Response(503, json={"jsonrpc": "2.0", "id": None, "error": answer}, request=request)

    def _problem(self, request: httpx2.Request, response: httpx2.Response) -> tuple[int, Failure] | None:
        """Return the error code and the failure if a response's status or content type means one."""
        status = response.status_code
        if status in {401, 403}:
            return REFUSED, Failure("sign-in-needed", _explain_refusal(response, self._sign_in))
        if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return NOT_SENT, Failure(
                "proxy-failed", f"the proxy{_proxy(request)} answered {_status(response)}."
            )
        if status == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
            return NOT_SENT, Failure("not-reached", "it no longer knows our session; it was restarted.")
        # Over SSE, answers arrive as events. Over streamable HTTP, a server need not support GET.
        is_fine = response.is_success if self._is_sse else request.method != "POST"
        if is_fine or next_request_within_origin(response) is not None:
            return None
        # Typical answers to a POST at the event stream of the older transport.
        self._connection.only_sse |= status in {400, 404, 405}
        failure = _explain_answer(request, response)
        return None if failure is None else (UNUSABLE, failure)


def _explain_answer(request: httpx2.Request, response: httpx2.Response) -> Failure | None:
    """Return why the answer to a POST cannot be one of an MCP server; None if it can."""
    kind = _kind(response)
    if response.is_redirect:
        target = request.url.join(response.headers.get("location", "")).copy_with(query=None, fragment=None)
        reason = (
            f"it redirects to {visible(str(target), _MAX_SHOWN)}. If that is the server, use it as `url`; if it is "
            "a page to sign in, the server needs a token under `headers:`."
        )
        return Failure("not-mcp", reason)
    if response.is_error and not isinstance(read_message(response.content), JSONRPCError):
        said = visible(response.text.strip(), _MAX_SHOWN)
        reason = f"it answered {_status(response)}{said and ': '}{said or '. Check `url`, and whether the server works.'}"
        return Failure("answered-an-error", reason)
    if response.status_code == HTTPStatus.ACCEPTED or kind in {"", "application/json", "text/event-stream"}:
        return None
    reason = f"it answered {visible(kind, _MAX_SHOWN)}, which is not MCP. Check `url`: it may be a web page."
    return Failure("not-mcp", reason)


def _explain_transport(request: httpx2.Request, error: httpx2.RequestError) -> tuple[int, Failure]:
    cause: BaseException | None = error
    while cause is not None and not (isinstance(cause, OSError) and cause.errno):
        cause = cause.__cause__ or cause.__context__
    reason = str(error) or type(error).__name__
    if isinstance(cause, ConnectionError):
        # asyncio and anyio write less plainly.
        reason = os.strerror(cause.errno or 0).lower()
    if isinstance(cause, ssl.SSLCertVerificationError):
        message = f"the certificate of {request.url.host} was not accepted: {cause.verify_message}."
        return NOT_SENT, Failure("certificate-not-accepted", message)
    if isinstance(error, httpx2.ProxyError):
        message = f"the proxy{_proxy(request)} refused the connection: {reason}."
        return NOT_SENT, Failure("proxy-failed", message)
    if not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return LOST, Failure("not-reached", f"the connection broke: {reason}.")
    if not isinstance(cause, ssl.SSLError) and (proxy := _proxy(request)):
        return NOT_SENT, Failure("proxy-failed", f"the proxy{proxy} could not be reached: {reason}.")
    if isinstance(cause, socket.gaierror):
        return NOT_SENT, Failure("not-reached", f"its host name {request.url.host} could not be resolved.")
    # Without parts that may be secret.
    address = request.url.copy_with(userinfo=b"", query=None, fragment=None)
    return NOT_SENT, Failure("not-reached", f"it cannot be reached at {address}: {reason}.")


def _proxy(request: httpx2.Request) -> str:
    """Return the proxy set by the environment, as ` host:port`; empty if there is none."""
    proxies = getproxies()
    proxy = proxies.get(request.url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(request.url.host):
        return ""
    # Without its password.
    return f" {visible(proxy.rpartition('@')[2].rpartition('://')[2], _MAX_SHOWN)}"


def _explain_refusal(response: httpx2.Response, sign_in: SignIn | None) -> str:
    refused = f"it answered {_status(response)}"
    if sign_in is None:
        return (
            f"{refused}: it does not accept the `Authorization` header that it was sent. The token may have expired or lack "
            "a permission: renew it, and check the variables that the configuration uses in it."
        )
    is_forbidden = response.status_code == HTTPStatus.FORBIDDEN
    lacks = "more permissions than you have" if is_forbidden else "you to sign in"
    instead = "renew the `headers:`" if sign_in.server.headers else "set a token as `headers:`"
    return (
        f"{refused}: it needs {lacks}. Run `{sign_in.command}`, or {instead} in the configuration (for example "
        "`Authorization: Bearer ${TOKEN}`)."
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
    """Connect over streamable HTTP or, with `is_sse`, over HTTP with SSE."""
    assert server.url is not None
    try:
        # In a thread, because it reads the machine's certificates.
        client = await asyncio.to_thread(_Client, server, connection, sign_in, is_sse=is_sse)
    except OSError as error:
        named = " and ".join(name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name))
        message = f"the certificates in {named or 'the system'} cannot be read: {error}."
        connection.failure = Failure("certificate-not-accepted", message)
        raise ConnectionError(message) from error
    except (ImportError, ValueError) as error:
        message = f"the proxy of the environment cannot be used: {error}"
        connection.failure = Failure("proxy-failed", message)
        raise ConnectionError(message) from error
    if is_sse:
        async with sse_client(server.url, httpx_client_factory=lambda *_, **__: client) as streams:
            yield streams
        return
    streaming = streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES)
    async with client, streaming as streams:
        yield streams
