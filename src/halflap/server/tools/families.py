"""Halflap's own tools, by the names in `server.families`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from halflap.server.tools.dspy import dspy_family
from halflap.server.tools.execute import call_tool, execute_program
from halflap.server.tools.find import inspect_tool, list_callable_tools, search_tools, suggest_workflow
from halflap.server.tools.gepa import gepa_family
from halflap.server.tools.tool import family

if TYPE_CHECKING:
    from halflap.gateway import Gateway
    from halflap.server.tools.tool import FrontTool, Handler


def _core_family(gateway: Gateway) -> list[FrontTool]:
    handlers: Mapping[str, Handler] = {
        "search_tools": search_tools,
        "list_callable_tools": list_callable_tools,
        "inspect_tool": inspect_tool,
        "call_tool": call_tool,
        "execute_program": execute_program,
        "suggest_workflow": suggest_workflow,
    }
    return family(gateway, handlers)


FAMILIES: Mapping[str, Callable[[Gateway], list[FrontTool]]] = {
    "core": _core_family,
    "dspy": dspy_family,
    "gepa": gepa_family,
}


def own_tools(gateway: Gateway) -> dict[str, FrontTool]:
    """Return the tools that clients see, in order."""
    config = gateway.config
    # Without a model, DSPy programs can't run; optimising workflows is for those who ask for it.
    families = config.server.families or (("core", "dspy") if config.programs.lm else ("core",))
    return {tool.name: tool for name in families for tool in FAMILIES[name](gateway)}
