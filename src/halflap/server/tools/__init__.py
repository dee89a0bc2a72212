"""Halflap's own MCP tools, in three families.

`definitions.yaml` has what clients see of them, and `tool` binds a definition to the handler that answers its calls. The
core family is in `core` and `execute` (programs and single calls); `dspy` and `gepa` are a family each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from halflap.server.tools.core import core_family
from halflap.server.tools.dspy import dspy_family
from halflap.server.tools.gepa import gepa_family

if TYPE_CHECKING:
    from halflap.gateway import Gateway
    from halflap.server.tools.tool import FrontTool

__all__ = ["FAMILIES", "own_tools"]

FAMILIES: Mapping[str, Callable[[Gateway], list[FrontTool]]] = {
    "core": core_family,
    "dspy": dspy_family,
    "gepa": gepa_family,
}


def own_tools(gateway: Gateway) -> dict[str, FrontTool]:
    """Return the tools that clients see, in order."""
    config = gateway.config
    # Without a model, DSPy programs can't run; optimising workflows is for those who ask for it.
    families = config.server.families or (("core", "dspy") if config.programs.lm else ("core",))
    return {tool.name: tool for name in families for tool in FAMILIES[name](gateway)}
