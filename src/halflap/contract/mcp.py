"""The contract for mcp: a decorator for its MCPServer, and results for its low-level server."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, InputRequiredResult, TextContent

from halflap.contract.tool import Answer, Contract, ContractTool, Decorator, F

if TYPE_CHECKING:
    from halflap.contract.invariants import Invariant

__all__ = ["call_result", "contract_tools", "decorator"]


def call_result(answer: Answer) -> CallToolResult:
    """Return the result of `tools/call`. An error answer is an answer too, so `isError` stays false."""
    return CallToolResult(
        content=[TextContent(type="text", text=answer.text)], structured_content=answer.structured
    )


def contract_tools(server: MCPServer[Any], contract: Contract) -> Decorator:
    """Return a decorator that registers typed functions as tools of a server, under a contract.

    It takes what `MCPServer.tool` takes, plus `invariants` and `source`.
    """
    if not isinstance(server, MCPServer):
        raise TypeError(
            f"contract_tools takes an MCPServer, not {type(server).__name__}. Use halflap.contract.fastmcp for FastMCP, "
            "or halflap.contract.tool_of without a framework."
        )

    def register(tool: ContractTool, call: Callable[..., Any], settings: dict[str, Any]) -> None:
        server.add_tool(
            call, name=tool.name, description=tool.description, structured_output=False, **settings
        )
        # The server only derives output schemas from types and takes none; this field is what it lists.
        registered = server._tool_manager.get_tool(tool.name)  # noqa: SLF001
        if registered is None or registered.fn is not call:
            raise ValueError(f"The server already has a tool {tool.name}; give this one another name.")
        registered.fn_metadata.output_schema = tool.output_schema
        tool.publish(registered.parameters, tool.output_schema)

    return decorator(contract, register, reserved="structured_output")


def decorator(
    contract: Contract,
    register: Callable[[ContractTool, Callable[..., Any], dict[str, Any]], None],
    reserved: str,
) -> Decorator:
    """Return the decorator for a framework: `register` adds a tool to the server, `reserved` is set by the contract."""

    def decorate(
        name: str | None = None,
        *,
        description: str | None = None,
        invariants: Sequence[Invariant] = (),
        source: str | None = None,
        **settings: Any,
    ) -> Callable[[F], F]:
        if callable(name):
            raise TypeError("Call the decorator: write @tool(), not @tool.")
        if reserved in settings:
            raise TypeError(f"The contract sets {reserved}; leave it out.")

        def add(function: F) -> F:
            tool = ContractTool(
                function,
                contract,
                name=name,
                description=description,
                invariants=invariants,
                source=source,
                passes_exceptions=(MCPError,),
                passes_results=(InputRequiredResult,),
            )
            register(tool, _enveloping(tool), settings)
            return function

        return add

    return decorate


def _enveloping(tool: ContractTool) -> Callable[..., Any]:
    """Return a function with the tool's parameters that answers with the envelope."""

    @functools.wraps(tool.function, updated=())
    async def call(*arguments: Any, **named: Any) -> Any:
        answer = await tool.answer(*arguments, **named)
        return call_result(answer) if isinstance(answer, Answer) else answer

    # Frameworks read the signature; its return type is the envelope's, not the function's.
    taken = tool.parameters()
    call.__annotations__ = {
        one.name: one.annotation for one in taken if one.annotation is not inspect.Parameter.empty
    } | {"return": CallToolResult}
    signature = inspect.Signature(taken, return_annotation=CallToolResult)
    call.__signature__ = signature  # type: ignore[attr-defined]  # any function may have one
    return call
