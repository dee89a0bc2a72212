"""The terminal face."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from halflap.cli.app import app  # noqa: PLC0415 -- importing the package costs nothing

    app()
