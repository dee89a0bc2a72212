"""`halflap demo`: the whole loop on the bundled servers, each step of which asserts what it shows."""

from halflap.cli.demo.command import demo

__all__ = ["demo"]
