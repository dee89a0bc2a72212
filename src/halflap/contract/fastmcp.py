"""The contract for FastMCP: a decorator for its servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from halflap.contract.mcp import decorator

if TYPE_CHECKING:
    from halflap.contract.tool import Contract, ContractTool, Decorator

__all__ = ["contract_tools"]


def contract_tools(server: Any, contract: Contract) -> Decorator:
    """Return a decorator that registers typed functions as tools of a FastMCP server, under a contract.

    It takes what FastMCP's `tool` takes, plus `invariants` and `source`.
    """
    from fastmcp import FastMCP  # noqa: PLC0415 -- not one of our dependencies
    from fastmcp.tools import Tool  # noqa: PLC0415

    if not isinstance(server, FastMCP):
        raise TypeError(
            f"contract_tools takes a FastMCP server, not {type(server).__name__}. Use halflap.contract.mcp for an "
            "MCPServer, or halflap.contract.tool_of without a framework."
        )

    def register(tool: ContractTool, call: Callable[..., Any], settings: dict[str, Any]) -> None:
        server.tool(
            name=tool.name, description=tool.description, output_schema=tool.output_schema, **settings
        )(call)
        # FastMCP derives the input schema; the component has the schemas that it lists.
        for one in list(server._local_provider._components.values()):  # noqa: SLF001
            if isinstance(one, Tool) and one.name == tool.name:
                tool.publish(one.parameters, one.output_schema)

    return decorator(contract, register, reserved="output_schema")
