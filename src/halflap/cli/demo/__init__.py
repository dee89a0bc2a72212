"""`halflap demo`: the whole loop on the bundled servers, each step of which asserts what it shows."""

from halflap.cli.demo.command import demo
from halflap.cli.demo.step import DemoError

__all__ = ["DemoError", "demo"]
