"""The whole output of a run as a resource, for the principal who ran it alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from halflap.core.errors import RunNotFoundError, UsageError
from halflap.server.caller import principal_of

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from halflap.core.codes import OtherCode
    from halflap.gateway import Gateway

__all__ = ["RunResources"]

_URI = "halflap://runs/{run}/output"
_PATTERN = re.compile(r"halflap://runs/([0-9a-f]{8,40})/output")
_LISTED = 20
_NOT_FOUND = -32002
_NOT_KEPT: OtherCode = "output-not-kept"


class RunResources:
    """Answers what clients ask about resources."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def list(
        self, context: ServerRequestContext[Any, Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the outputs of the caller's newest runs."""
        runs = await self._gateway.runs(_LISTED, principal=principal_of(context))
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=_URI.format(run=run.id),
                    name=f"run-{run.id}",
                    title=f"Output of run {run.id} ({run.outcome})",
                    mime_type="text/plain",
                    size=run.output_bytes,
                )
                for run in runs
            ]
        )

    async def list_templates(
        self, _context: ServerRequestContext[Any, Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return the template of a run's output."""
        template = types.ResourceTemplate(
            uri_template=_URI,
            name="run-output",
            title="Output of a run",
            description="All that a program printed, also where the answer of execute_program was truncated",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read(
        self, context: ServerRequestContext[Any, Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the output of a run."""
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
