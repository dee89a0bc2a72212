"""The gateway: everything Halflap can do, behind one class.

Read `gateway.Gateway` first: the commands, the MCP server and Python programs all use it. `build` is the composition
root, which makes every part and gives it what it needs. `tools`, `learned`, `compose`, `metrics`
and `doctor` answer questions that need several parts, `passing` passes prompts and resources through. Nothing here speaks MCP to clients or prints.
"""

from halflap.gateway.findings import NO_SERVER_ADVICE
from halflap.gateway.gateway import Gateway

__all__ = ["NO_SERVER_ADVICE", "Gateway"]
