"""The JSON Schema of workflows and examples of them, as they lie in the package."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

__all__ = ["example_nets", "net_schema"]


def net_schema() -> dict[str, Any]:
    """Give the JSON Schema of the form of a net."""
    found: dict[str, Any] = json.loads(
        files("halflap.workflows").joinpath("net.schema.json").read_text("utf-8")
    )
    return found


def example_nets() -> dict[str, dict[str, Any]]:
    """Give the examples by name, as JSON."""
    folder = files("halflap.workflows").joinpath("examples")
    listed = sorted(folder.iterdir(), key=lambda one: one.name)
    return {one.name.removesuffix(".json"): json.loads(one.read_text("utf-8")) for one in listed}
