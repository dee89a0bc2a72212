"""Serves the example `sales-server`, which is written with the contract kit: its files are linked here, not copied."""

import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "_contract_sales"
"""In a clone a link to `examples/sales-server`, in a wheel those files themselves."""


def serve() -> None:
    """Run the example as `python server.py` does: what it imports from beside it is found first."""
    server = FOLDER / "server.py"
    if not server.is_file():
        sys.exit(
            f"The example's server is not at {server}. In a clone that is a symbolic link: check the clone out where "
            "links can be made (git config core.symlinks true), or run examples/sales-server/server.py itself."
        )
    sys.path.insert(0, str(FOLDER))
    runpy.run_path(str(server), run_name="__main__")


if __name__ == "__main__":
    serve()
