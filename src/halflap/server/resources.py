"""The whole output of a run as a resource, for the principal who ran it alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from halflap.core.errors import RunNotFoundError, UsageError
from halflap.server.principal import principal_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.server import ServerRequestContext

    from halflap.core.codes import OtherCode
    from halflap.gateway import Gateway

__all__ = ["OUTPUT_TEMPLATE", "RunResources"]

_URI = "halflap://runs/{run}/output"
_PATTERN = re.compile(r"halflap://runs/([0-9a-f]{8,40})/output")
_OURS = "halflap://runs/"
_NOT_FOUND = -32002
_NOT_KEPT: OtherCode = "output-not-kept"

OUTPUT_TEMPLATE: Mapping[str, Any] = {
    "uriTemplate": _URI,
    "name": "run-output",
    "title": "Output of a run",
    "description": "All that a program printed, also where the answer of execute_program was truncated",
    "mimeType": "text/plain",
}


class RunResources:
    """Reads the outputs of runs, and leaves other resources to the handler behind it."""

    def __init__(self, gateway: Gateway, others: Callable[..., Awaitable[types.ReadResourceResult]]) -> None:
        self._gateway = gateway
        self._others = others

    async def read(
        self, context: ServerRequestContext[Any, Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the output of a run."""
        if not str(params.uri).startswith(_OURS):
            return await self._others(context, params)
        found = _PATTERN.fullmatch(str(params.uri))
        try:
            if found is None:
                raise RunNotFoundError(str(params.uri))  # noqa: TRY301 -- the same for every caller
            run, _ = await self._gateway.run(found[1], principal=principal_of(context))
            if run.id != found[1]:
                raise RunNotFoundError(found[1])  # noqa: TRY301 -- the beginning of an identifier is none
        except (RunNotFoundError, UsageError):
            raise MCPError(
                _NOT_FOUND,
                f"There is no resource {params.uri}. Outputs of runs are at {_URI}.",
                {"code": RunNotFoundError.code},
            ) from None
        if run.output is None:
            # An empty text would pass for the whole of it.
            raise MCPError(
                _NOT_FOUND,
                "The output of this run was not kept (`traces.record`), or it is still running.",
                {"code": _NOT_KEPT},
            )
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=run.output)
        return types.ReadResourceResult(contents=[contents])
