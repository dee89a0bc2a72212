"""Changes in suggested workflows, judged independently of the product: by the first verb of a tool's name."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from acceptance.figures_gateway import Replay
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from random import Random

    from halflap import Gateway, RegisteredTool

CHANGING = re.compile(
    "add|append|archive|assign|cancel|clear|close|commit|create|delete|disable|drop|edit|enable|insert|invite|kill|lock|"
    "mark|merge|modify|move|patch|pay|post|publish|push|put|remove|rename|replace|reset|revoke|save|send|set|submit|"
    "transfer|unassign|unlock|update|upload|write"
)
READING = re.compile("check|count|describe|fetch|find|get|list|lookup|query|read|search|show|view")
SYNONYMS = ({"save", "write"}, {"create", "add", "make", "generate"}, {"update", "edit", "modify", "change"})
MOST_SUGGESTED = 10


def live_servers() -> dict[str, Replay]:
    servers = json.loads(shared_data("live_tools.json").read_text())
    return {name: Replay(one["tools"], one.get("description") or None) for name, one in servers.items()}


def live_tasks() -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = json.loads(shared_data("live_tasks.json").read_text())
    return tasks


def first_verb(name: str) -> str:
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    return next((word for word in words if CHANGING.fullmatch(word) or READING.fullmatch(word)), "")


def _is_changing(name: str) -> bool:
    return CHANGING.fullmatch(first_verb(name)) is not None


def is_asked_for(name: str, goal: str) -> bool:
    """Return whether a goal uses the verb of a changing tool, in any form, or a synonym."""
    verb = first_verb(name)
    verbs = next((group for group in SYNONYMS if verb in group), {verb})
    words = re.findall(r"[a-z]+", goal.lower())
    stems = [one.removesuffix("e") for one in verbs if one]
    forms = "|".join(f"{stem}{stem[-1]}?(?:e|es|s|d|ed|ing)?" for stem in stems)
    return any(re.fullmatch(forms, word) for word in words)


def tempting_tools(
    tools: Mapping[str, Mapping[str, Any]], random: Random, each: int
) -> list[Mapping[str, Any]]:
    """Return random tools that get something by a key, and changing ones: only their results can supply the keys."""
    changing = [name for name in tools if _is_changing(name) and "outputSchema" in tools[name]]
    getting = [
        name for name in tools if first_verb(name) == "get" and tools[name]["inputSchema"].get("required")
    ]
    return [tools[name] for group in (changing, getting) for name in random.sample(group, each)]


def required_at_random(tool: RegisteredTool, random: Random) -> dict[str, None]:
    """Return some required parameters of a tool, as values that are known to exist but not what they are."""
    required = list(tool.parameters.get("required", ()))
    return dict.fromkeys(random.sample(required, random.randint(0, len(required))))


def changing_tools(tools: Iterable[RegisteredTool]) -> dict[str, str]:
    """Return the tools that change something, by verb or annotation: full name → original name."""
    return {
        tool.name: tool.original_name
        for tool in tools
        if tool.annotations.destructive or _is_changing(tool.original_name)
    }


async def changing_steps(gateway: Gateway, changing: dict[str, str], **asked: Any) -> list[str]:
    """Ask for suggestions; return the changing tools in those with a program, except the wanted one."""
    found = await gateway.suggest_workflow(limit=MOST_SUGGESTED, **asked)
    return [
        changing[name]
        for suggestion in (*found["suggestions"], *found["changes"])
        if suggestion.get("program")
        for name in suggestion["tools"]
        if name in changing and name != asked.get("want")
    ]
