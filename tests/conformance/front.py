"""`halflap serve --http` for the conformance suite, which has no token: every request gets it here.

    python front.py CONFIG

The first line on stdout is the address, without a path.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from halflap.config import load_config, token_hash
from halflap.gateway import Gateway
from halflap.server import Front
from halflap.server import http as served
from halflap.server.audit import Audit
from halflap.server.guard import Guard
from halflap.server.tokens import Tokens

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

TOKEN = "conformance-token"


class WithToken(Guard):
    """Adds the token to what the suite sends, and changes nothing else."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            token = (b"authorization", f"Bearer {TOKEN}".encode())
            scope = {**scope, "headers": [*scope["headers"], token]}
        await super().__call__(scope, receive, send)


async def main(config: str) -> None:
    vars(served)["Guard"] = WithToken
    gateway = Gateway(await asyncio.to_thread(load_config, config))
    listener = served.bind("127.0.0.1", 0)
    front = Front(gateway)

    def ready() -> None:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
        sys.stdout.flush()

    try:
        await served.serve_http(
            gateway,
            front,
            listener,
            Tokens({"conformance": token_hash(TOKEN)}),
            audit=Audit(),
            on_ready=ready,
        )
    finally:
        front.close()
        await gateway.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
