"""Short ways to write tool definitions, and to lint them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.lint import lint, server_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.config import LintConfig
    from halflap.lint import Evidence, ServerReport


def field(kind: str, description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, **({"description": description} if description else {}), **more}


TEXT = field("string", "The text.")


def record(*required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, **({"required": list(required)} if required else {})}


def tool(name: str, takes: Any = None, returns: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"{name.replace('_', ' ').capitalize()}.",
        "inputSchema": record() if takes is None else takes,
        **({} if returns is None else {"outputSchema": returns}),
        **more,
    }


def report_of(
    *tools: Any,
    evidence: Mapping[str, Evidence] | None = None,
    config: LintConfig | None = None,
    name: str = "shop",
) -> ServerReport:
    (report,) = lint([server_of(name, tools, evidence)], config).servers
    return report


def rules_of(*tools: Any, **options: Any) -> set[str]:
    return {one.rule for one in report_of(*tools, **options).findings}
