"""Halflap: one MCP server in front of all your others."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.config import Config, load_config
    from halflap.core.errors import ConfigError, HalflapError, ToolError, ToolNotFoundError, UpstreamError
    from halflap.core.values import CallContext, Changes, RegisteredTool, Result, Tool, ToolInfo
    from halflap.gateway import Gateway
    from halflap.learn import infer_schema_from_value, merge_schemas
    from halflap.schema import Parameter, ToolSchema

__version__ = "0.1.0"

__all__ = [
    "CallContext",
    "Changes",
    "Config",
    "ConfigError",
    "Gateway",
    "HalflapError",
    "Parameter",
    "RegisteredTool",
    "Result",
    "Tool",
    "ToolError",
    "ToolInfo",
    "ToolNotFoundError",
    "ToolSchema",
    "UpstreamError",
    "__version__",
    "infer_schema_from_value",
    "load_config",
    "merge_schemas",
]

_HOMES = {
    "CallContext": "core.values",
    "Changes": "core.values",
    "Config": "config",
    "ConfigError": "core.errors",
    "Gateway": "gateway",
    "HalflapError": "core.errors",
    "Parameter": "schema",
    "RegisteredTool": "core.values",
    "Result": "core.values",
    "Tool": "core.values",
    "ToolError": "core.errors",
    "ToolInfo": "core.values",
    "ToolNotFoundError": "core.errors",
    "ToolSchema": "schema",
    "UpstreamError": "core.errors",
    "infer_schema_from_value": "learn",
    "load_config": "config",
    "merge_schemas": "learn",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for: importing one part does not load the others."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'halflap' has no attribute {name!r}")
    return getattr(import_module(f"halflap.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
