"""Tools under a contract for `mcp`: a decorator for its MCPServer, and results for its low-level server."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, InputRequiredResult, TextContent

from halflap.contract.output import marked
from halflap.contract.tool import Answer, ContractTool, F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halflap.contract.invariants import Invariant
    from halflap.contract.tool import Contract, Decorator

__all__ = ["call_result", "contract_tools", "wrapped"]


def call_result(answer: Answer) -> CallToolResult:
    """Give an answer as a result of `tools/call`: an error of the tool's is an answer too, so `isError` is false."""
    return CallToolResult(
        content=[TextContent(type="text", text=answer.text)], structured_content=answer.structured
    )


def wrapped(tool: ContractTool) -> Callable[..., Any]:
    """Give a function of the same signature that answers with the envelope, async if the tool is."""
    if tool.is_async:

        @functools.wraps(tool.function, updated=())
        async def call(*arguments: Any, **named: Any) -> Any:
            answer = await tool.answer_async(*arguments, **named)
            return call_result(answer) if isinstance(answer, Answer) else answer

    else:

        @functools.wraps(tool.function, updated=())
        def call(*arguments: Any, **named: Any) -> Any:
            answer = tool.answer(*arguments, **named)
            return call_result(answer) if isinstance(answer, Answer) else answer

    # A partial and an object have a name and a docstring of their class, if any.
    call.__name__, call.__doc__ = tool.name, tool.description
    taken = tool.parameters()
    # Evaluated, and without what the function returns: that is the envelope's content, not the result.
    call.__annotations__ = {
        one.name: one.annotation for one in taken if one.annotation is not inspect.Parameter.empty
    } | {"return": CallToolResult}
    call.__signature__ = inspect.Signature(taken, return_annotation=CallToolResult)  # type: ignore[attr-defined]
    return call


def contract_tools(server: MCPServer[Any], contract: Contract) -> Decorator:
    """Give a decorator that makes typed functions tools of a server, under a contract.

    It takes what `MCPServer.tool` takes, and `invariants` and `source`.
    """
    if not isinstance(server, MCPServer):
        raise TypeError(
            f"contract_tools takes an MCPServer of mcp.server.mcpserver, not {type(server).__name__}; for FastMCP there "
            "is halflap.contract.fastmcp, for any other halflap.contract.tool_of."
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
        if "structured_output" in settings:
            raise TypeError("Under a contract, output is always structured: leave structured_output out.")

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
            call = wrapped(made)
            server.add_tool(
                call,
                name=made.name,
                description=made.description,
                structured_output=False,
                **settings,
            )
            # The server derives schemas from types alone and takes none; what it publishes is a field of this.
            registered = server._tool_manager.get_tool(made.name)  # noqa: SLF001
            if registered is None or registered.fn is not call:
                raise ValueError(f"The server has a tool {made.name} already: give this one another name.")
            registered.fn_metadata.output_schema = made.output_schema
            marked(registered.parameters, leave_out="produces")
            return function

        return register

    return tool
