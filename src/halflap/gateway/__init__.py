"""The gateway: everything Halflap can do, behind one class.

Read `gateway.Gateway` first: the commands, the MCP server, the web page and Python programs all use it. `build` is the
composition root, which creates every part. `tools`, `learned`, `compose`, `metrics` and `doctor` answer questions that
need several packages, and `passing` handles prompts and resources. Nothing here prints, or speaks MCP to clients.
"""

from halflap.gateway.findings import NO_SERVER_ADVICE
from halflap.gateway.gateway import Gateway
from halflap.gateway.sign_ins import sign_ins

__all__ = ["NO_SERVER_ADVICE", "Gateway", "sign_ins"]
