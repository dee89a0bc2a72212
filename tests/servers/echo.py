"""The tools of swift.py on the library's server: in both eras, over stdio, streamable HTTP or SSE."""

import argparse
import json
import socket
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

try:
    from servers import swift
except ImportError:
    # Run as a script.
    import swift  # type: ignore[import-not-found, no-redef]

Context = ServerRequestContext[dict[str, Any]]
Answer = dict[str, Any] | types.InputRequiredResult
cancelled = 0


async def sleep(context: Context, arguments: dict[str, Any]) -> Answer:
    global cancelled  # noqa: PLW0603 -- of the process
    seconds = float(arguments["seconds"])
    end = anyio.current_time() + seconds
    try:
        while (left := end - anyio.current_time()) > 0:
            await anyio.sleep(min(left, swift.PROGRESS_INTERVAL))
            if arguments.get("progress"):
                done = min(seconds - (end - anyio.current_time()), seconds)
                await context.session.report_progress(done, seconds, "sleeping")
    except anyio.get_cancelled_exc_class():
        cancelled += 1
        raise
    return swift.text(f"slept {seconds:g} s")


async def roots(context: Context, params: types.CallToolRequestParams) -> Answer:
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
            return swift.text(f"the client does not tell its roots: {error}", isError=True)
    return swift.text(json.dumps([str(root.uri) for root in answer.roots]))


def build(dummies: int = 0, page: int | None = None) -> Server[dict[str, Any]]:
    """Return the server, with so many more tools, so many to a page."""
    definitions = [*swift.TOOLS, *(swift.tool(f"dummy_{number:05}") for number in range(dummies))]
    names = {one["name"] for one in definitions}

    async def list_tools(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        start = int(params.cursor) if params and params.cursor else 0
        end = start + (page or len(definitions))
        more = {"nextCursor": str(end)} if end < len(definitions) else {}
        return types.ListToolsResult.model_validate({"tools": definitions[start:end], **more})

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        answer = await answered(context, params)
        return types.CallToolResult.model_validate(answer) if isinstance(answer, dict) else answer

    async def answered(context: Context, params: types.CallToolRequestParams) -> Answer:
        name, arguments = params.name, params.arguments or {}
        if name not in names:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")
        if name == "cancelled_count":
            return swift.text(str(cancelled))
        if name == "roots":
            return await roots(context, params)
        try:
            if name == "sleep":
                return await sleep(context, arguments)
            if name not in swift.ANSWERS:
                return swift.text(f"{name} {json.dumps(arguments, sort_keys=True)}")
            return swift.ANSWERS[name](arguments)
        except KeyError as missing:
            return swift.text(f"missing argument: {missing.args[0]}", isError=True)

    return Server("echo", version="1.2.3", on_list_tools=list_tools, on_call_tool=call_tool)


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

    # With the protocol named, since asyncio sets TCP_NODELAY only then.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
    options = parser.parse_args()

    server = build()
    if options.http is not None:
        serve_web(server.streamable_http_app(), options.http, "/mcp")
    elif options.sse is not None:
        serve_web(sse_app(server), options.sse, "/sse")
    else:
        anyio.run(serve_stdio, server)


if __name__ == "__main__":
    main()
