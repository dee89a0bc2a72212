"""Web servers in a thread of the test's own process."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from servers.by_hand import offering

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["Handler", "answering", "serving"]


class Handler(http.server.BaseHTTPRequestHandler):
    """An MCP server of the older era without the library; a subclass has `tools`, and answers calls of them in `call`."""

    protocol_version = "HTTP/1.1"
    tools: ClassVar[Sequence[str]] = ()

    def do_POST(self) -> None:
        self.post()

    def do_GET(self) -> None:
        self.send(405)

    def do_DELETE(self) -> None:
        self.delete()

    def post(self) -> None:
        request = json.loads(self.body())
        method, params = request["method"], request.get("params") or {}
        if "id" not in request:
            self.send(202)
        elif method == "tools/call":
            self.call(params["name"], request["id"])
        elif method == "tools/list":
            self.reply(request["id"], result=self.page(params.get("cursor")))
        else:
            self.reply(request["id"], **offering("web", list, lambda *_: None)(method, params) or {})

    def delete(self) -> None:
        self.send(200)

    def page(self, _cursor: str | None) -> dict[str, Any]:
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]}

    def call(self, name: str, identifier: Any) -> None:
        self.reply(identifier, result={"content": [{"type": "text", "text": name}]})

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def reply(self, identifier: Any, status: int = 200, **answer: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": identifier, **answer}).encode()
        self.send(status, body, content_type="application/json", mcp_session_id="session")

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(handler: type[Handler], certificate: tuple[Path, Path] | None = None) -> Iterator[str]:
    """Serve on a free port, and yield the URL of /mcp there."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads, server.block_on_close = True, False
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http{'' if certificate is None else 's'}://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def answering(status: int, certificate: tuple[Path, Path] | None = None, **headers: str) -> Iterator[str]:
    """Answer everything alike, also as a proxy."""

    class Alike(Handler):
        protocol_version = "HTTP/1.0"

        def answer(self) -> None:
            self.body()
            self.send(status, b"", **headers)

        do_GET = do_POST = do_DELETE = do_CONNECT = answer  # noqa: N815 -- the library's names

    with serving(Alike, certificate) as url:
        yield url
