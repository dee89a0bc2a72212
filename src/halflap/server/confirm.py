"""Ask the user, through the client, whether a program may call destructive tools."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ClientRefusedError
from halflap.core.text import clean
from halflap.server.passthrough.client import Word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.core.values import Tool
    from halflap.server.passthrough.client import Client

__all__ = ["Word", "confirm"]

_ASKED = "confirm"
_LONGEST_DESCRIPTION = 200
_A_YES = (
    "If you allow it, the program may call them any number of times in this run, with any arguments, and also through "
    "`call_tool` with a computed name."
)
_A_YES_TO_SAVED = (
    "If you allow it, the program may call them any number of times in this run: a language model chooses when, and with "
    "which arguments."
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        _ASKED: {
            "type": "boolean",
            "title": "Allow",
            "description": "Whether the program may call these tools in this run",
        }
    },
    "required": [_ASKED],
}


async def confirm(client: Client, tools: Sequence[Tool], code: str, *, saved: str = "") -> Word:
    """Ask whether a program may call these tools; `saved` is its name, if it is a DSPy program."""
    if not tools:
        return Word()
    elicitation = client.capabilities.get("elicitation")
    if elicitation is None or ("url" in elicitation and "form" not in elicitation):
        return Word(unconfirmed="the client can't ask (it doesn't support elicitation)")
    try:
        answers = await client.ask({_ASKED: await _request(tools, code, saved)})
    except ClientRefusedError as refused:
        return Word(unconfirmed=f"the client couldn't ask: {clean(refused.message, _LONGEST_DESCRIPTION)}")
    return _word(answers[_ASKED], tools)


async def _request(tools: Sequence[Tool], code: str, saved: str) -> dict[str, Any]:
    names = frozenset(tool.name for tool in tools)
    who = f"The DSPy program {saved}" if saved else "A program written by the model"
    lines = [f"{who} can call destructive tools:"]
    lines += [
        f"- {tool.name}: {' '.join(clean(tool.description, _LONGEST_DESCRIPTION).split())}" for tool in tools
    ]
    lines += [
        _A_YES_TO_SAVED if saved else _A_YES,
        "Allow this once?",
        # The program comes last: its text could pretend to be part of the question.
        await _excerpt(code, names),
    ]
    return {
        "method": "elicitation/create",
        "params": {"message": "\n".join(lines), "requestedSchema": _SCHEMA},
    }


async def _excerpt(code: str, names: frozenset[str]) -> str:
    from halflap.server.excerpt import LONGEST_WHOLE, excerpt  # noqa: PLC0415 -- it loads what listing the tools does not need

    return (
        excerpt(code, names) if len(code) <= LONGEST_WHOLE else await asyncio.to_thread(excerpt, code, names)
    )


def _word(answer: Mapping[str, Any], tools: Sequence[Tool]) -> Word:
    action, content = answer.get("action"), answer.get("content")
    if action == "accept" and isinstance(content, dict) and content.get(_ASKED) is True:
        return Word(confirmed=frozenset(tool.name for tool in tools))
    return Word(unconfirmed="the user declined" if action != "cancel" else "the user did not answer")
