"""The MCP face: Halflap's own tools, and what passes through from servers, over stdio or HTTP.

Read `front.py` (what a client talks to) first, then `offers.py` (under which names), `tools/` (our own tools) and `serve.py` with
`http.py` (the transports). `client.py` is the client behind a request, which servers may ask things in both protocol eras;
`requests.py` parks a request whose client has to repeat it with an answer. `results.py` passes results on as they came, and
`changes.py` announcements. `confirm.py` asks people before something is destroyed.
"""

from halflap.server.front import Front
from halflap.server.serve import run_http, run_stdio

__all__ = ["Front", "run_http", "run_stdio"]
