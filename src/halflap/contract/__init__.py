"""For authors of MCP servers: one envelope for all tools, typed errors, pages, relations, units and invariants.

Start with `tool.py`, which turns a typed function into a tool under a contract. `halflap.contract.mcp` and
`halflap.contract.fastmcp` have the decorators. The package loads pydantic and nothing of the gateway.
"""

from halflap.contract.cursor import Cursors, Page, Pagination, Turn
from halflap.contract.envelope import ErrorCode, ErrorDetail, ResponseMetadata, ToolResponse
from halflap.contract.errors import (
    ContractError,
    InvalidQuery,
    NotFound,
    PermissionDenied,
    RateLimited,
    TimedOut,
)
from halflap.contract.invariants import Invariant, invariant
from halflap.contract.json_schema import output_schema
from halflap.contract.plain import tool_of
from halflap.contract.relations import consumes, fraction, lint_ignore, produces, unit
from halflap.contract.tool import Answer, Contract

__all__ = [
    "Answer",
    "Contract",
    "ContractError",
    "Cursors",
    "ErrorCode",
    "ErrorDetail",
    "InvalidQuery",
    "Invariant",
    "NotFound",
    "Page",
    "Pagination",
    "PermissionDenied",
    "RateLimited",
    "ResponseMetadata",
    "TimedOut",
    "ToolResponse",
    "Turn",
    "consumes",
    "fraction",
    "invariant",
    "lint_ignore",
    "output_schema",
    "produces",
    "tool_of",
    "unit",
]
