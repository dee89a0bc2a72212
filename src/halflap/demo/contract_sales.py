"""Serve the example `sales-server`, which is written with the contract kit."""

import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "_contract_sales"
"""A link to `examples/sales-server` in a clone, a copy of it in a wheel."""


def serve() -> None:
    """Run the example like `python server.py`, which finds the modules next to it."""
    sys.path.insert(0, str(FOLDER))
    runpy.run_path(str(FOLDER / "server.py"), run_name="__main__")


if __name__ == "__main__":
    serve()
