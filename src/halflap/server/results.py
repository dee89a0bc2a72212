"""Results and errors of servers on their way to a client: as they came, in the form of the protocol version that it speaks."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.methods import CACHEABLE_METHODS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict, TypeAdapter, ValidationError

from halflap.core.errors import BusyError, HalflapError, InputRequiredError, ToolFailedError, UpstreamError

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult
    from mcp.server.lowlevel import Server

    from halflap.core.codes import OtherCode

    Handler = Callable[[Any, Any], Awaitable[Any]]

logger = logging.getLogger(__name__)

_INTERNAL: OtherCode = "internal"

_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock, config=ConfigDict(defer_build=True))
_NEWER_KEYS = ("resultType", "ttlMs", "cacheScope")


class AsItCame(Exception):  # noqa: N818 -- not an error: how a handler returns what the library would rebuild
    """A result that goes to the client as it is. The library drops fields that it does not know, and refuses some."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        super().__init__()
        self.result = result


def as_it_came(handler: Handler) -> Handler:
    """Make a request handler's result go to the client as it is, and our errors be the protocol's."""

    async def answer(context: Any, params: Any) -> NoReturn:
        with protocol_errors():
            raise AsItCame(await handler(context, params))

    return answer


class ResultMiddleware:
    """Catches `AsItCame` around the library's handlers."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        except AsItCame as passed:
            result = conform(ctx.method, ctx.protocol_version, passed.result)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            meta = result.get("_meta")
            stamp = {types.SERVER_INFO_META_KEY: self._server.server_info_stamp}
            result["_meta"] = {**stamp, **(meta if isinstance(meta, dict) else {})}
        return result


@contextmanager
def protocol_errors() -> Iterator[None]:
    """Turn our errors into those of the protocol; a server's own error passes as it came."""
    try:
        yield
    except InputRequiredError:
        raise
    except ToolFailedError as error:
        raise MCPError(error.rpc_code, error.message, error.data) from error
    except HalflapError as error:
        code = types.INTERNAL_ERROR if isinstance(error, UpstreamError) else types.INVALID_PARAMS
        raise MCPError(code, str(error), {"code": error.code}) from error


async def or_error_result(
    tool: str, answering: Awaitable[dict[str, Any]], *, passes_errors: bool
) -> dict[str, Any]:
    """Return the answer to a call; our own errors become results that models can read.

    A server's protocol error passes as it came where a client calls its tool by name, and where clients know what to
    do: open an address first.
    """
    retry: dict[str, Any] = {}
    try:
        return await answering
    except (MCPError, InputRequiredError):
        raise
    except HalflapError as error:
        if isinstance(error, ToolFailedError) and (
            passes_errors or error.rpc_code == types.URL_ELICITATION_REQUIRED
        ):
            raise MCPError(error.rpc_code, error.message, error.data) from error
        message, code = str(error), error.code
        if isinstance(error, BusyError):
            retry = {"retry_after": error.retry_after}
    except Exception as error:
        logger.exception("the call of %s failed", tool)
        message, code = f"Halflap failed to answer ({type(error).__name__}). See its log.", _INTERNAL
    block = {"type": "text", "text": f"[{code}] {message}"}
    return {"content": [block], "isError": True, "_meta": {"halflap": {"code": code, **retry}}}


def conform(method: str, version: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with what its protocol version demands, and without what clients of it would refuse."""
    wire = {**result}
    is_modern = version in MODERN_PROTOCOL_VERSIONS
    if not is_modern:
        for key in _NEWER_KEYS:
            wire.pop(key, None)
    elif wire.setdefault("resultType", "complete") == "complete" and method in CACHEABLE_METHODS:
        ttl = wire.get("ttlMs")
        is_number = isinstance(ttl, int) and not isinstance(ttl, bool) and ttl >= 0
        wire["ttlMs"] = ttl if is_number else 0
        wire["cacheScope"] = "public" if wire.get("cacheScope") == "public" else "private"
    if method == "tools/call" and wire.get("resultType") != "input_required":
        _conform_call(wire, is_modern=is_modern)
    elif method == "tools/list":
        wire["tools"] = [_listed(tool, is_modern=is_modern) for tool in wire["tools"]]
    return wire


def _conform_call(wire: dict[str, Any], *, is_modern: bool) -> None:
    blocks = wire.get("content")
    wire["content"] = [_block(block) for block in blocks] if isinstance(blocks, list) else []
    # In the older era, structured content is an object: clients refuse the whole result otherwise.
    if "structuredContent" in wire and not is_modern and not isinstance(wire["structuredContent"], dict):
        value = wire.pop("structuredContent")
        if not wire["content"]:
            wire["content"] = [{"type": "text", "text": json.dumps(value, ensure_ascii=False)}]


def _block(block: Any) -> Any:
    """Return a content block; one that the protocol doesn't know reaches the model as text."""
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}
    return block


def _listed(tool: Mapping[str, Any], *, is_modern: bool) -> dict[str, Any]:
    """Return a tool's definition; that it has to run as a task is our business, not the client's."""
    listed = {key: value for key, value in tool.items() if key != "execution"}
    output = listed.get("outputSchema")
    if not is_modern and isinstance(output, dict) and output.get("type") != "object":
        del listed["outputSchema"]
    return listed
