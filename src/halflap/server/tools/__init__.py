"""Halflap's own MCP tools, in three families.

`definitions.yaml` has their definitions as clients see them, and `tool` binds each to the handler that answers its calls.
`core` and `execute` (calls and programs) are the core family; `dspy` and `gepa` are one family each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from halflap.server.tools.core import core_family
from halflap.server.tools.dspy import dspy_family
from halflap.server.tools.gepa import gepa_family

if TYPE_CHECKING:
    from halflap.gateway import Gateway
    from halflap.server.tools.tool import OwnTool

__all__ = ["FAMILIES", "own_tools"]

FAMILIES: Mapping[str, Callable[[Gateway], list[OwnTool]]] = {
    "core": core_family,
    "dspy": dspy_family,
    "gepa": gepa_family,
}


def own_tools(gateway: Gateway) -> dict[str, OwnTool]:
    """Return the tools that clients see, in order."""
    config = gateway.config
    # Without a model, DSPy programs can't run; optimising workflows is for those who ask for it.
    families = config.server.families or (("core", "dspy") if config.programs.lm else ("core",))
    return {tool.name: tool for name in families for tool in FAMILIES[name](gateway)}
