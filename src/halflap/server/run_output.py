"""The whole output of a run as a resource, for the principal who ran it alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError

from halflap.core.errors import RunNotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.core.codes import OtherCode
    from halflap.gateway import Gateway

__all__ = ["OUTPUT_TEMPLATE", "read_output"]

_URI = "halflap://runs/{run}/output"
_PATTERN = re.compile(r"halflap://runs/([0-9a-f]{8,40})/output")
_NOT_FOUND = -32002
_NOT_KEPT: OtherCode = "output-not-kept"

OUTPUT_TEMPLATE: Mapping[str, Any] = {
    "uriTemplate": _URI,
    "name": "run-output",
    "title": "Output of a run",
    "description": "All that a program printed, also where the answer of execute_program was truncated",
    "mimeType": "text/plain",
}


async def read_output(gateway: Gateway, uri: str, principal: str) -> dict[str, Any] | None:
    """Return the output of a run; None if the URI is not about runs."""
    if not uri.startswith("halflap://runs/"):
        return None
    found = _PATTERN.fullmatch(uri)
    run = None
    if found is not None:
        try:
            run, _ = await gateway.run(found[1], principal=principal)
        except (RunNotFoundError, UsageError):
            run = None
    # The beginning of an identifier is none.
    if run is None or found is None or run.id != found[1]:
        message = f"There is no resource {uri}. Outputs of runs are at {_URI}."
        raise MCPError(_NOT_FOUND, message, {"code": RunNotFoundError.code})
    if run.output is None:
        # An empty text would pass for the whole of it.
        message = "The output of this run was not kept (`traces.record`), or it is still running."
        raise MCPError(_NOT_FOUND, message, {"code": _NOT_KEPT})
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": run.output}]}
