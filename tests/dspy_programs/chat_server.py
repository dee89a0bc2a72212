"""A language model for tests: an HTTP server on loopback that speaks the OpenAI chat API with scripted answers."""

from __future__ import annotations

import http.server
import json
import re
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_HEADER = re.compile(r"^\[\[ ## (\w+) ## \]\]$", re.MULTILINE)
_ASKED = re.compile(r"Respond with (?:the corresponding output fields|a JSON object).*", re.DOTALL)
_NAMED = re.compile(r"`(?:\[\[ ## )?(\w+)(?: ## \]\])?`")


@dataclass(frozen=True)
class Asked:
    """One request as it came, and the parts that DSPy put into it."""

    headers: Mapping[str, str]
    """With names in lower case."""
    messages: list[dict[str, Any]]
    number: int
    """How many came before it."""

    @property
    def last(self) -> str:
        """The last message's text: what is asked now."""
        return str(self.messages[-1]["content"])

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The input fields of what is asked now, as DSPy's chat form writes them."""
        parts = _HEADER.split(_ASKED.sub("", self.last))
        return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}

    @cached_property
    def wanted(self) -> list[str]:
        """The output fields that are asked for, in order."""
        found = _ASKED.search(self.last)
        names = _NAMED.findall(found.group(0)) if found else []
        return [name for name in names if name != "completed"]

    @property
    def wants_json(self) -> bool:
        return "Respond with a JSON object" in self.last


@dataclass(frozen=True)
class Answer:
    """What the model does: says a text, or answers with a status, late, broken or not at all."""

    text: str = ""
    status: int = 200
    delay: float = 0.0
    raw: bytes | None = None
    """The whole body instead of a proper one."""
    drop: bool = False
    """Close the connection without an answer."""
    headers: Mapping[str, str] = field(default_factory=dict)


def said(outputs: Mapping[str, Any], *, as_json: bool = False) -> str:
    """Write output fields in DSPy's chat form, or its JSON form."""
    if as_json:
        return json.dumps(dict(outputs))
    parts = [
        f"[[ ## {name} ## ]]\n{value if isinstance(value, str) else json.dumps(value)}"
        for name, value in outputs.items()
    ]
    return "\n\n".join([*parts, "[[ ## completed ## ]]"])


class ChatServer:
    """Keeps what was asked; `answer` may be replaced at any time."""

    def __init__(self, answer: Callable[[Asked], Answer | str | Mapping[str, Any]]) -> None:
        self.answer = answer
        self.requests: list[Asked] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.chat = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """For `programs.lm.api_base`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def count(self) -> int:
        return len(self.requests)

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def respond(self, headers: Mapping[str, str], messages: list[dict[str, Any]]) -> Answer:
        with self._lock:
            asked = Asked(headers, messages, len(self.requests))
            self.requests.append(asked)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            answer = self.answer(asked)
            if not isinstance(answer, Answer):
                answer = Answer(answer if isinstance(answer, str) else said(answer, as_json=asked.wants_json))
            if answer.delay:
                self._closing.wait(answer.delay)
            return answer
        finally:
            with self._lock:
                self._now -= 1


@contextmanager
def chatting(answer: Callable[[Asked], Answer | str | Mapping[str, Any]]) -> Iterator[ChatServer]:
    """Run a model that answers each request with what `answer` returns for it."""
    server = ChatServer(answer)
    try:
        yield server
    finally:
        server.close()


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    block_on_close = False
    chat: Any = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no concern of the server's."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's name for it
        """Keep stderr clean."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.chat.respond(headers, body.get("messages", []))
        if answer.drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        content = answer.raw if answer.raw is not None else json.dumps(_body(answer, body)).encode()
        self.send_response(answer.status)
        sent = {"content-type": "application/json", "content-length": str(len(content)), **answer.headers}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()


def _body(answer: Answer, request: Mapping[str, Any]) -> dict[str, Any]:
    if answer.status != http.HTTPStatus.OK:
        text = answer.text or f"the model answers with {answer.status}"
        return {"error": {"message": text, "type": "error", "code": None}}
    message = {"role": "assistant", "content": answer.text}
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": str(request.get("model", "")),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
