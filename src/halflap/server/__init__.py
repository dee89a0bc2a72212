"""The MCP face."""

from halflap.server.app import Front
from halflap.server.serve import run_http, run_stdio

__all__ = ["Front", "run_http", "run_stdio"]
