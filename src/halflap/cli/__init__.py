"""The terminal face.

Read `app` first: it lists the commands and their modules in `commands`. `command` has what all commands share (options,
errors, exit codes), `options` what several share, and `output` prints.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # For a closed stream: otherwise the next opened file would get its descriptor.
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 -- for the whole process
    try:
        from halflap.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
