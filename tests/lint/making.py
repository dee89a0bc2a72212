"""Short ways to lint a few tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.lint import lint, server_of
from halflap.lint.sample import field, record, tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.config import LintConfig
    from halflap.lint import Finding, Seen, ServerReport


def report_of(
    *tools: Any, seen: Mapping[str, Seen] | None = None, config: LintConfig | None = None, name: str = "shop"
) -> ServerReport:
    (report,) = lint([server_of(name, tools, seen)], config).servers
    return report


def found(rule: str, *tools: Any, seen: Mapping[str, Seen] | None = None) -> list[Finding]:
    return [one for one in report_of(*tools, seen=seen).findings if one.rule == rule]


def paths(rule: str, *tools: Any, seen: Mapping[str, Seen] | None = None) -> list[str]:
    return [one.path for one in found(rule, *tools, seen=seen)]


def taking(
    name: str,
    kind: str = "string",
    description: str = "",
    beside: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """Make a tool with one parameter, and others beside it."""
    return tool("do_it", record(**{name: field(kind, description, **more), **(beside or {})}))
