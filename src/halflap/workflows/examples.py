"""The example workflows of the package."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def example_nets() -> dict[str, dict[str, Any]]:
    """Return the examples by name, as JSON."""
    folder = files("halflap.workflows").joinpath("examples")
    listed = sorted(folder.iterdir(), key=lambda one: one.name)
    return {one.name.removesuffix(".json"): json.loads(one.read_text("utf-8")) for one in listed}
