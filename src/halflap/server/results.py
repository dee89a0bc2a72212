"""Results and errors on their way to a client: unchanged, except for what clients of its protocol version would refuse."""

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


class RawResult(Exception):  # noqa: N818 -- not an error: it carries a result past the library's models
    """A result for the client. The library would drop unknown fields of a returned result, and refuse some results."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        super().__init__()
        self.result = result


def raw(handler: Handler) -> Handler:
    """Send the results of a request handler to the client as they are, and our errors as protocol errors."""

    async def answer(context: Any, params: Any) -> NoReturn:
        with protocol_errors():
            raise RawResult(await handler(context, params))

    return answer


class RawResults:
    """The middleware that catches `RawResult` around the library's handlers."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        except RawResult as raised:
            result = conform(ctx.method, ctx.protocol_version, raised.result)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            meta = result.get("_meta")
            stamp = {types.SERVER_INFO_META_KEY: self._server.server_info_stamp}
            result["_meta"] = {**stamp, **(meta if isinstance(meta, dict) else {})}
        return result


@contextmanager
def protocol_errors() -> Iterator[None]:
    """Turn our errors into protocol errors; a server's own error stays as it is."""
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
    tool: str, answering: Awaitable[dict[str, Any]], *, passes_errors: bool = False, as_object: bool = False
) -> dict[str, Any]:
    """Return the answer to a call; our own errors become results that models can read, or error objects.

    With `passes_errors`, protocol errors of the server stay protocol errors. The request to open a URL first always
    does, since clients handle it.
    """
    seed_code, retry = "EXECUTION_ERROR", {}
    try:
        return await answering
    except (MCPError, InputRequiredError):
        raise
    except HalflapError as error:
        if isinstance(error, ToolFailedError) and (
            passes_errors or error.rpc_code == types.URL_ELICITATION_REQUIRED
        ):
            raise MCPError(error.rpc_code, error.message, error.data) from error
        message, code, seed_code = str(error), error.code, error.seed_code
        if isinstance(error, BusyError):
            retry = {"retry_after": error.retry_after}
    except Exception as error:
        logger.exception("the call of %s failed", tool)
        message, code = f"Halflap failed to answer ({type(error).__name__}). See its log.", _INTERNAL
    text = f"[{code}] {message}"
    result: dict[str, Any] = {"isError": True, "_meta": {"halflap": {"code": code, **retry}}}
    if as_object:
        result["structuredContent"] = {"error": True, "code": seed_code, "message": message}
        text = json.dumps(result["structuredContent"], indent=2, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], **result}


def conform(method: str, version: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with what its protocol version demands, and without what clients would refuse."""
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
    # In the older era, structured content is an object: otherwise clients refuse the whole result.
    if "structuredContent" in wire and not is_modern and not isinstance(wire["structuredContent"], dict):
        value = wire.pop("structuredContent")
        if not wire["content"]:
            wire["content"] = [{"type": "text", "text": json.dumps(value, ensure_ascii=False)}]


def _block(block: Any) -> Any:
    """Return a content block; one of an unknown type becomes text, so that it reaches the model."""
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}
    return block


def _listed(tool: Mapping[str, Any], *, is_modern: bool) -> dict[str, Any]:
    """Return a tool's definition, without whether it runs as a task: Halflap handles that."""
    listed = {key: value for key, value in tool.items() if key != "execution"}
    output = listed.get("outputSchema")
    if not is_modern and isinstance(output, dict) and output.get("type") != "object":
        del listed["outputSchema"]
    return listed
