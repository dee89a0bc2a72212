"""Tools under a contract for FastMCP: a decorator for its servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.contract.mcp import wrapped
from halflap.contract.output import marked
from halflap.contract.tool import ContractTool, F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halflap.contract.invariants import Invariant
    from halflap.contract.tool import Contract, Decorator

__all__ = ["contract_tools"]


def contract_tools(server: Any, contract: Contract) -> Decorator:
    """Give a decorator that makes typed functions tools of a FastMCP server, under a contract.

    It takes `name`, `description`, `invariants` and `source`, and passes all else on to the server's own `tool`.
    """
    from fastmcp import FastMCP  # noqa: PLC0415 -- not a dependency of ours: whoever has such a server has it
    from fastmcp.tools import Tool  # noqa: PLC0415
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415
    from mcp_types import InputRequiredResult  # noqa: PLC0415

    if not isinstance(server, FastMCP):
        raise TypeError(
            f"contract_tools takes a FastMCP server, not {type(server).__name__}; for mcp's MCPServer there is "
            "halflap.contract.mcp, for any other halflap.contract.tool_of."
        )

    def tool(
        name: str | None = None,
        *,
        description: str | None = None,
        invariants: Sequence[Invariant] = (),
        source: str | None = None,
        **settings: Any,
    ) -> Callable[[F], F]:
        if callable(name):
            raise TypeError("The decorator is called: write @tool(), not @tool.")
        if "output_schema" in settings:
            raise TypeError("The output schema is the envelope's, made from what the function returns.")

        def register(function: F) -> F:
            made = ContractTool(
                function,
                contract,
                name=name,
                description=description,
                invariants=invariants,
                source=source,
                passing=(MCPError,),
                control=(InputRequiredResult,),
            )
            server.tool(
                name=made.name, description=made.description, output_schema=made.output_schema, **settings
            )(wrapped(made))
            # It makes the schema of the parameters itself and takes none; what it publishes is a field of this.
            for one in list(server._local_provider._components.values()):  # noqa: SLF001
                if isinstance(one, Tool) and one.name == made.name:
                    marked(one.parameters, leave_out="produces")
            return function

        return register

    return tool
