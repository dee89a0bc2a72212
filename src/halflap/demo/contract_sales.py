"""Serves the example `sales-server`, which is written with the contract kit: its files are linked here, not copied."""

import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "_contract_sales"
"""In a clone a link to `examples/sales-server`, in a wheel those files themselves."""


def serve() -> None:
    """Run the example as `python server.py` does: what it imports from beside it is found first."""
    sys.path.insert(0, str(FOLDER))
    runpy.run_path(str(FOLDER / "server.py"), run_name="__main__")


if __name__ == "__main__":
    serve()
