"""Small MCP servers with fictional data, to try Halflap without servers of your own.

`financial_data` declares what it returns, `doc_retrieval` does not, `sales` describes how its tools chain, and
`contract_sales` is the example written with the contract kit. Each runs with `python -m halflap.demo.NAME`.
"""

import sys
from typing import Any

SERVERS = ("financial_data", "doc_retrieval", "sales")


def demo_config() -> dict[str, Any]:
    """Return a configuration that starts the three servers with the Python that runs this."""
    # -P: a module in the working folder must not shadow one of ours.
    return {
        "servers": [
            {"name": name, "command": sys.executable, "args": ["-P", "-m", f"{__name__}.{name}"]}
            for name in SERVERS
        ]
    }
