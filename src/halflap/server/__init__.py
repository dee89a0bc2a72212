"""The MCP server: Halflap's own tools and what passes through from other servers, over stdio or HTTP.

Read `front.py` first, the MCP server that clients talk to. `routing.py` maps the names that clients see to servers,
`tools/` has Halflap's own tools, `serve.py` and `http.py` the transports. `client.py` is the client behind a request,
which servers can ask questions; `parking.py` keeps a request whose client has to repeat it with the answers.
`results.py` keeps results unchanged, `subscriptions.py` forwards announcements, and `confirm.py` asks people before
something is destroyed. Over HTTP, `guard.py`, `tokens.py` and `connections.py` decide who gets in, and `audit.py` logs it.
"""

from halflap.server.front import Front
from halflap.server.serve import run_stdio

__all__ = ["Front", "run_stdio"]
