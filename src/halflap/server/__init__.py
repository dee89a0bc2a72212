"""The MCP face: Halflap's own tools, and what passes through from servers, over stdio or HTTP.

Read `front.py` (what a client talks to) first, then `tools/` (our own tools), `passthrough/` (everything of the servers), and
`serve.py` with `stdio.py` and `http.py` (the transports). `confirm.py` asks people before something is destroyed.
"""

from halflap.server.front import Front
from halflap.server.serve import run_http, run_stdio

__all__ = ["Front", "run_http", "run_stdio"]
