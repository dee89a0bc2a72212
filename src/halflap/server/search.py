"""`search_tools`: find a tool by what it does."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from halflap.server.family import Answer, FrontTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["search_tools"]

_DESCRIPTION = (
    "Finds tools by what they do, among all connected MCP servers. Give a few words or a whole sentence, in any "
    "language, or a tool's name; the best come first, each with its namespaced name, one line on what it does, "
    "its signature (a ? marks an optional parameter, -> what it returns if that is declared) and a score from 0 "
    "to 1. Ask for one step of a task at a time. inspect_tool then shows everything about one of them."
)


def search_tools(gateway: Gateway) -> FrontTool:
    """Give the tool, bound to a gateway."""

    async def answer(arguments: Mapping[str, Any], _caller: Caller) -> Answer:
        hits = await gateway.search(
            arguments["query"], limit=arguments.get("limit", 10), server=arguments.get("server")
        )
        found = {"tools": [asdict(hit) for hit in hits]}
        return Answer(json.dumps(found, indent=2, ensure_ascii=False), found)

    return FrontTool(
        name="search_tools",
        title="Search for tools",
        description=_DESCRIPTION,
        input_schema={
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What the tool should do, or its name"},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 100,
                    "default": 10,
                    "description": "So many at most",
                },
                "server": {"type": ["string", "null"], "description": "Only the tools of this server"},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        output_schema={
            "type": "object",
            "properties": {
                "tools": {
                    "type": "array",
                    "description": "The best first",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string", "description": "Namespaced"},
                            "description": {"type": "string", "description": "One line on what it does"},
                            "signature": {"type": "string", "description": "What it takes and returns"},
                            "score": {
                                "type": "number",
                                "minimum": 0,
                                "maximum": 1,
                                "description": "How well it fits",
                            },
                        },
                        "required": ["name", "description", "signature", "score"],
                    },
                }
            },
            "required": ["tools"],
        },
        read_only=True,
        handler=answer,
        errors=("usage", "server-not-found"),
    )
