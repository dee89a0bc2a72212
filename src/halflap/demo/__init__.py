"""Three small MCP servers with made-up data, so that Halflap can be tried before any server of one's own is configured."""

import sys
from typing import Any

SERVERS = ("financial_data", "doc_retrieval", "sales")


def demo_config() -> dict[str, Any]:
    """Return a configuration that starts the three servers with the Python that runs this."""
    return {
        "servers": [
            # -P: what lies in the working folder is not to be imported in place of our own.
            {"name": name, "command": sys.executable, "args": ["-P", "-m", f"{__name__}.{name}"]}
            for name in SERVERS
        ]
    }
