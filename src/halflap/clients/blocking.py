"""What a person switched off in a client: read in whatever form it stands there, and by the names that it has here."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.config import ToolsConfig

__all__ = ["ALLOWING", "BLOCKING", "held_still", "kind_of", "name_of", "names_in", "odd_switches", "still_on"]

BLOCKING = ("disabledTools", "excludeTools")
ALLOWING = ("enabledTools", "includeTools", "tools")
_SWITCHES = ("disabled", "enabled")
_KINDS = {
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def kind_of(value: Any) -> str:
    """Say what a value of a file is, in words that reveal nothing of what it says."""
    return _KINDS.get(type(value), "null")


def odd_switches(raw: Mapping[str, Any]) -> dict[str, str]:
    """Say which switches of a server are neither on nor off; who wrote one meant something by it."""
    return {
        key: f"`{key}` is {kind_of(raw[key])} there, not true or false"
        for key in _SWITCHES
        if raw.get(key) is not None and not isinstance(raw[key], bool)
    }


def names_in(value: Any) -> tuple[list[str], str]:
    """Give the names that a list has, and what else the value is; empty if it is a list of names, or nothing."""
    if not isinstance(value, list):
        return [], f"is {kind_of(value)} there, not a list of names" if value else ""
    odd = [item for item in value if not isinstance(item, str)]
    names = [item for item in value if isinstance(item, str)]
    return names, f"has {kind_of(odd[0])} in it, not a name" if odd else ""


def name_of(server: str, tool: str) -> str:
    """Give the name that a tool has in Halflap, unless another has it already."""
    return re.sub(r"\W", "_", f"mcp__{server}__{tool}", flags=re.ASCII)


def still_on(server: str, tools: Iterable[str], settings: ToolsConfig) -> list[str]:
    """Give those of a server's tools that the settings let through."""
    return [tool for tool in tools if _may_be_called(name_of(server, tool), settings)]


def held_still(held: Mapping[str, str], settings: ToolsConfig) -> list[str]:
    """Give what else is not on in a client, by its key, that the settings say nothing of."""
    return [said for key, said in held.items() if key not in ALLOWING or settings.allow is None]


def _may_be_called(name: str, settings: ToolsConfig) -> bool:
    if settings.allow is not None:
        return any(fnmatchcase(name, glob) for glob in settings.allow)
    return not any(fnmatchcase(name, glob) for glob in settings.block)
