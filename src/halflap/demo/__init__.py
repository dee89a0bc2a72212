"""Small MCP servers with made-up data, so that Halflap can be tried before any server of one's own is configured."""

import sys
from typing import Any

SERVERS = ("financial_data", "doc_retrieval", "sales")
CONTRACT_SERVER = "contract_sales"
"""The example that is written with the contract kit."""


def demo_config() -> dict[str, Any]:
    """Return a configuration that starts the three servers with the Python that runs this."""
    return {"servers": [_started(name) for name in SERVERS]}


def contract_config() -> dict[str, Any]:
    """Return a configuration that starts the server that is written with the contract kit."""
    return {"servers": [_started(CONTRACT_SERVER)]}


def _started(name: str) -> dict[str, Any]:
    # -P: what lies in the working folder is not to be imported in place of our own.
    return {"name": name, "command": sys.executable, "args": ["-P", "-m", f"{__name__}.{name}"]}
