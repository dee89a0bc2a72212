"""Rules about tool names: clients must accept them, and each must be unique."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from halflap.core.text import visible
from halflap.lint.rule import Limits, Problem, Rule

if TYPE_CHECKING:
    from halflap.lint.server import LintServer

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


def _name_characters(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        refused = list(dict.fromkeys(_REFUSED.findall(tool.tool.original_name)))
        if refused or not tool.tool.original_name:
            shown = " ".join(repr(one) for one in refused[:5])
            yield Problem(
                tool,
                "",
                f"The name {tool.shown} contains characters that clients refuse: {shown}."
                if refused
                else "A tool has an empty name, which clients refuse.",
                "Use only letters A to Z, digits, `_` and `-`.",
            )


def _name_too_long(server: LintServer, limits: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        length = len(tool.tool.original_name)
        if length > limits.name_length:
            yield Problem(
                tool,
                "",
                f"The name {tool.shown} has {length} characters; clients accept {limits.name_length}.",
                "Shorten it.",
            )


def _prefixed_name_too_long(server: LintServer, limits: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        prefixed = f"mcp__{server.name}__{tool.tool.original_name}"
        if len(tool.tool.original_name) <= limits.name_length < len(prefixed):
            yield Problem(
                tool,
                "",
                f"With the prefix `mcp__{visible(server.name, 100)}__` that clients add, {tool.shown} has {len(prefixed)} "
                f"characters; they accept {limits.name_length}.",
                f"Shorten {tool.shown}, or the name under which the server is configured.",
            )


def _duplicate_name(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        if tool.tool.original_name in server.duplicates:
            yield Problem(
                tool,
                "",
                f"The server lists more than one tool named {tool.shown}; clients keep one of them.",
                "Give each tool its own name.",
            )


RULES = (
    Rule("name-characters", "error", _name_characters),
    Rule("name-too-long", "error", _name_too_long),
    Rule("prefixed-name-too-long", "warning", _prefixed_name_too_long),
    Rule("duplicate-name", "error", _duplicate_name),
)
