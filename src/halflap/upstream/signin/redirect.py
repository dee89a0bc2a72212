"""The redirect address, where the browser delivers the answer to a sign-in."""

from __future__ import annotations

import asyncio
import secrets
import socket
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, urlsplit

import anyio
from mcp.shared.auth import AuthorizationCodeResult

from halflap.core.errors import SignInError
from halflap.core.text import visible

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

WAIT_SECONDS = 600.0
"""How long a person may take to sign in."""
_REQUEST_SECONDS = 10.0
_PATH = "/callback"
_MAX_SHOWN = 200
_DONE = "The answer has reached Halflap. You can close this window."
_UNEXPECTED = "This is not the answer to a sign-in that Halflap is waiting for."


class Redirect:
    """Serves an address of this machine while it is open, and waits there for the answer to one sign-in."""

    def __init__(self, port: int) -> None:
        """Listen on a port; 0 picks a free one."""
        self._listener = socket.create_server(("127.0.0.1", port))
        self.uri = f"http://127.0.0.1:{self._listener.getsockname()[1]}{_PATH}"
        """The redirect address."""
        self._state: str | None = None
        self._answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, sock=self._listener)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    def expect(self, authorization_url: str) -> None:
        """Accept only the answer to this request, because any web page can send the browser here."""
        self._state = parse_qs(urlsplit(authorization_url).query)["state"][0]

    def accept(self, url: str) -> bool:
        """Process the address that the browser was redirected to; return whether it is the expected answer."""
        try:
            given = {name: values[0] for name, values in parse_qs(urlsplit(url.strip()).query).items()}
        except ValueError:
            return False
        state = given.get("state", "")
        if self._state is None or not secrets.compare_digest(state.encode(), self._state.encode()):
            return False
        if self._answer.done():
            return True
        if "code" in given:
            answer = AuthorizationCodeResult(code=given["code"], state=state, iss=given.get("iss"))
            self._answer.set_result(answer)
        else:
            why = given.get("error_description") or given.get("error") or "it gives no reason"
            message = f"The authorization server refused the sign-in: {visible(why, _MAX_SHOWN).rstrip('.')}."
            self._answer.set_exception(SignInError(message))
        return True

    async def answer(self) -> AuthorizationCodeResult:
        with anyio.move_on_after(WAIT_SECONDS):
            return await self._answer
        raise SignInError(f"There was no answer within {WAIT_SECONDS / 60:.0f} minutes. Sign in again.")

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one HTTP request; only its first line matters."""
        try:
            with anyio.fail_after(_REQUEST_SECONDS):
                _, target, _ = (await reader.readline()).decode("latin-1").split(" ")
            expected = target.partition("?")[0] == _PATH and self.accept(target)
            text = (_DONE if expected else _UNEXPECTED).encode()
            status = "200 OK" if expected else "404 Not Found"
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + text)
            await writer.drain()
        except (TimeoutError, ValueError, OSError):
            # Not a browser.
            pass
        finally:
            writer.close()
