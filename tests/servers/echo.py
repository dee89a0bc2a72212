"""A server with one tool for each thing that a client must cope with, over stdio, streamable HTTP or SSE."""

import argparse
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

# Under stdio this is the protocol channel; the SDK points descriptor 1 itself elsewhere.
REAL_STDOUT = os.dup(1)

PROGRESS_INTERVAL = 0.2
ONE_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

Context = ServerRequestContext[dict[str, Any]]
Answer = types.CallToolResult | types.InputRequiredResult
Handler = Callable[[Context, types.CallToolRequestParams, dict[str, Any]], Awaitable[Answer]]


@dataclass
class Counters:
    cancelled: int = 0


COUNTERS = Counters()


def text(value: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=value)])


def structured(value: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=json.dumps(value))], structured_content=value)


def failure(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


async def echo(_c: Context, _p: types.CallToolRequestParams, arguments: dict[str, Any]) -> Answer:
    return text(arguments["text"])


async def add(_c: Context, _p: types.CallToolRequestParams, arguments: dict[str, Any]) -> Answer:
    return structured({"result": arguments["a"] + arguments["b"]})


async def fail(_c: Context, _p: types.CallToolRequestParams, _a: dict[str, Any]) -> Answer:
    return failure("this tool always fails")


async def crash(_c: Context, _p: types.CallToolRequestParams, _a: dict[str, Any]) -> Answer:
    os._exit(3)


async def sleep(context: Context, _p: types.CallToolRequestParams, arguments: dict[str, Any]) -> Answer:
    seconds = float(arguments["seconds"])
    end = anyio.current_time() + seconds
    try:
        while (left := end - anyio.current_time()) > 0:
            await anyio.sleep(min(left, PROGRESS_INTERVAL))
            if arguments.get("progress"):
                done = min(seconds - (end - anyio.current_time()), seconds)
                await context.session.report_progress(done, seconds, "sleeping")
    except anyio.get_cancelled_exc_class():
        COUNTERS.cancelled += 1
        raise
    return text(f"slept {seconds:g} s")


async def cancelled_count(_c: Context, _p: types.CallToolRequestParams, _a: dict[str, Any]) -> Answer:
    return text(str(COUNTERS.cancelled))


async def breach(_c: Context, _p: types.CallToolRequestParams, _a: dict[str, Any]) -> Answer:
    return structured({"count": "many"})


async def image(_c: Context, _p: types.CallToolRequestParams, _a: dict[str, Any]) -> Answer:
    return types.CallToolResult(
        content=[
            types.ImageContent(data=ONE_PIXEL, mime_type="image/png"),
            types.TextContent(text="one pixel"),
        ]
    )


async def meta(_c: Context, _p: types.CallToolRequestParams, _a: dict[str, Any]) -> Answer:
    return types.CallToolResult(
        content=[types.TextContent(text="see _meta")],
        _meta={"halflap.test/answer": 42, "halflap.test/list": ["a"]},
    )


async def pid(_c: Context, _p: types.CallToolRequestParams, _a: dict[str, Any]) -> Answer:
    return text(str(os.getpid()))


async def roots(context: Context, params: types.CallToolRequestParams, _a: dict[str, Any]) -> Answer:
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        # 2026: the question is the result, and the client calls again with the answer.
        answer = (params.input_responses or {}).get("roots")
        if not isinstance(answer, types.ListRootsResult):
            return types.InputRequiredResult(input_requests={"roots": types.ListRootsRequest()})
    else:
        try:
            answer = await context.session.send_request(
                types.ListRootsRequest(),
                types.ListRootsResult,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except MCPError as error:
            return failure(f"the client does not tell its roots: {error}")
    return text(json.dumps([str(root.uri) for root in answer.roots]))


async def env(_c: Context, _p: types.CallToolRequestParams, arguments: dict[str, Any]) -> Answer:
    return text(json.dumps(os.environ.get(arguments["name"])))


async def big(_c: Context, _p: types.CallToolRequestParams, arguments: dict[str, Any]) -> Answer:
    return text("x" * arguments["bytes"])


async def noise(_c: Context, _p: types.CallToolRequestParams, arguments: dict[str, Any]) -> Answer:
    os.write(
        REAL_STDOUT,
        b'this is not JSON\n\n{"half": \n[1, 2, 3]\n{"jsonrpc": "2.0", "id": 987654, "result": {}}\n',
    )
    if arguments.get("binary"):
        os.write(REAL_STDOUT, b"\xff\xfe\x80 not UTF-8\n")
    os.write(2, b"noise on stderr\n\xff\xfe\n")
    return text("made noise")


def tool(
    name: str,
    properties: dict[str, Any] | None = None,
    *,
    optional: tuple[str, ...] = (),
    output: dict[str, Any] | None = None,
    description: str = "",
) -> types.Tool:
    properties = properties or {}
    return types.Tool(
        name=name,
        description=description or f"Test tool {name}.",
        input_schema={
            "type": "object",
            "properties": properties,
            "required": [key for key in properties if key not in optional],
        },
        output_schema=output,
    )


RESULT = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
TOOLS: list[tuple[types.Tool, Handler]] = [
    (tool("echo", {"text": {"type": "string"}}, description="Return the text that was given."), echo),
    (tool("add", {"a": {"type": "integer"}, "b": {"type": "integer"}}, output=RESULT), add),
    (tool("fail"), fail),
    (tool("crash", description="End the server process in the middle of the call."), crash),
    (
        tool(
            "sleep", {"seconds": {"type": "number"}, "progress": {"type": "boolean"}}, optional=("progress",)
        ),
        sleep,
    ),
    (tool("cancelled_count", description="How many calls of sleep were cancelled so far."), cancelled_count),
    (tool("breach", output=COUNT, description="Break the declared output schema."), breach),
    (tool("image"), image),
    (tool("meta"), meta),
    (tool("pid"), pid),
    (tool("roots", description="Ask the client for its roots and return their URIs."), roots),
    (tool("env", {"name": {"type": "string"}}), env),
    (tool("big", {"bytes": {"type": "integer"}}), big),
    (tool("noise", {"binary": {"type": "boolean"}}, optional=("binary",)), noise),
]


def dummy(number: int) -> tuple[types.Tool, Handler]:
    name = f"dummy_{number:05}"

    async def answer(_c: Context, _p: types.CallToolRequestParams, arguments: dict[str, Any]) -> Answer:
        return text(f"{name} {json.dumps(arguments, sort_keys=True)}")

    definition = tool(
        name, {"value": {"type": "string"}}, optional=("value",), description=f"Dummy number {number}."
    )
    return definition, answer


def build(options: argparse.Namespace) -> Server[dict[str, Any]]:
    served = TOOLS + [dummy(number) for number in range(options.tools)]
    definitions = [definition for definition, _ in served]
    handlers = {definition.name: handler for definition, handler in served}

    async def list_tools(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        start = int(params.cursor) if params and params.cursor else 0
        end = start + (options.page or len(definitions))
        page = types.ListToolsResult(tools=definitions[start:end])
        if end < len(definitions):
            page.next_cursor = str(end)
        if options.ttl_ms is not None:
            page.ttl_ms = options.ttl_ms
        return page

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Answer:
        handler = handlers.get(params.name)
        if handler is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        try:
            return await handler(context, params, params.arguments or {})
        except KeyError as missing:
            return failure(f"missing argument: {missing.args[0]}")

    return Server(
        "echo",
        version="1.2.3",
        instructions=options.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(server: Server[dict[str, Any]]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def sse_app(server: Server[dict[str, Any]]) -> Any:
    from mcp.server.sse import SseServerTransport  # noqa: PLC0415 - only this transport needs it
    from starlette.applications import Starlette  # noqa: PLC0415 - as above
    from starlette.requests import Request  # noqa: PLC0415 - as above
    from starlette.responses import Response  # noqa: PLC0415 - as above
    from starlette.routing import Mount, Route  # noqa: PLC0415 - as above

    transport = SseServerTransport("/messages/")

    async def connect(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (
            incoming,
            outgoing,
        ):
            await server.run(incoming, outgoing, server.create_initialization_options())
        return Response()

    return Starlette(routes=[Route("/sse", connect), Mount("/messages/", transport.handle_post_message)])


def serve_web(app: Any, port: int, path: str) -> None:
    """Serve on the port, or on a free one for 0; the first line on stdout is the URL, once it can be reached."""
    import uvicorn  # noqa: PLC0415 - not needed under stdio

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}{path}\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument(
        "--http", type=int, metavar="PORT", help="streamable HTTP at /mcp; 0: any free port"
    )
    transport.add_argument("--sse", type=int, metavar="PORT", help="HTTP with SSE at /sse; 0: any free port")
    parser.add_argument("--tools", type=int, default=0, metavar="N", help="add N dummy tools")
    parser.add_argument("--page", type=int, metavar="N", help="list N tools per page")
    parser.add_argument(
        "--ttl-ms", type=int, metavar="N", help="let clients keep the list for N milliseconds"
    )
    parser.add_argument("--instructions", metavar="TEXT")
    options = parser.parse_args()

    server = build(options)
    if options.http is not None:
        serve_web(server.streamable_http_app(), options.http, "/mcp")
    elif options.sse is not None:
        serve_web(sse_app(server), options.sse, "/sse")
    else:
        anyio.run(serve_stdio, server)


if __name__ == "__main__":
    main()
