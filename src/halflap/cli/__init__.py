"""The terminal face.

Read `app` first: which command is where. `command` is the form of every command (shared options, errors, exit codes),
`options` has options that several commands share and `output` everything that is printed; the commands themselves are
in `commands`, a module per group.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # A stream that is closed: the next file to be opened would get its descriptor.
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 -- for the whole process
    try:
        from halflap.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
