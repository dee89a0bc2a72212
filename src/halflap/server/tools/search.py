"""`search_tools`: find a tool by what it does."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from halflap.server.tools.tool import Answer, FrontTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["search_tools"]

_DESCRIPTION = (
    "Finds tools by what they do, across all connected MCP servers: a few words or a sentence, in any language, or a "
    "tool's name. Search for one step of a task at a time."
)


def search_tools(gateway: Gateway) -> FrontTool:
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
                    "description": "Maximum number of results",
                },
                "server": {"type": ["string", "null"], "description": "Only tools of this server"},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        output_schema={
            "type": "object",
            "properties": {
                "tools": {
                    "type": "array",
                    "description": "Best first",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string", "description": "Namespaced"},
                            "description": {"type": "string", "description": "One line"},
                            "signature": {"type": "string", "description": "? marks optional parameters"},
                            "score": {"type": "number", "description": "From 0 to 1"},
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
