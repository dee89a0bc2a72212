"""For people who write MCP servers: one envelope for all tools, pages, relations, and schemas that are kept.

It loads pydantic and nothing of the gateway. `halflap.contract.mcp` and `halflap.contract.fastmcp` have the decorators.
"""

from halflap.contract.cursor import Cursors, Turn
from halflap.contract.envelope import ErrorCode, ErrorDetail, ResponseMetadata, ToolResponse
from halflap.contract.failures import (
    ContractError,
    InvalidQuery,
    NotFound,
    PermissionDenied,
    RateLimited,
    TimedOut,
)
from halflap.contract.invariants import Invariant, invariant
from halflap.contract.output import output_schema
from halflap.contract.page import Page, Pagination
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
