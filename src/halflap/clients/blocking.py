"""The tools that a person switched off in a client, by the names that `tools.block` has for them."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.config import ToolsConfig

__all__ = ["name_of", "still_on"]


def name_of(server: str, tool: str) -> str:
    """Give the name that a tool has in Halflap, unless another has it already."""
    return re.sub(r"\W", "_", f"mcp__{server}__{tool}", flags=re.ASCII)


def still_on(server: str, tools: Iterable[str], settings: ToolsConfig) -> list[str]:
    """Give those of a server's tools that the settings let through."""
    return [tool for tool in tools if _may_be_called(name_of(server, tool), settings)]


def _may_be_called(name: str, settings: ToolsConfig) -> bool:
    if settings.allow is not None:
        return any(fnmatchcase(name, glob) for glob in settings.allow)
    return not any(fnmatchcase(name, glob) for glob in settings.block)
