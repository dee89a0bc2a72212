"""The gateway: everything Halflap can do, behind one class.

Read `gateway.Gateway` first: the commands, the MCP server and Python programs all use it. `build` is the composition
root, which creates every part and gives it what it needs. `compose`, `learned`, `doctor` and `linter` answer questions
that need several parts. Nothing here speaks MCP to clients or prints.
"""

from halflap.gateway.compose import FIRST_LISTING_SECONDS
from halflap.gateway.findings import NO_SERVER_TODO
from halflap.gateway.gateway import Gateway

__all__ = ["FIRST_LISTING_SECONDS", "NO_SERVER_TODO", "Gateway"]
