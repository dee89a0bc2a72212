"""The terminal face."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    _mend_streams()
    try:
        from halflap.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _mend_streams() -> None:
    """Put something in place of streams that were closed, else the next file opened becomes our output."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))
