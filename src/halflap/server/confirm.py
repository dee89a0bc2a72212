"""Ask the user, through the client, whether a program may call destructive tools."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ClientRefusedError
from halflap.core.text import clean, visible
from halflap.server.client import Client, Consent

if TYPE_CHECKING:
    from halflap.core.values import Tool

_ASKED = "confirm"
_MAX_DESCRIPTION = 200
_MAX_PROGRAM = 2_000
"""A longer program is shown as excerpts around the names of the tools."""
_MAX_EXCERPTS = 20
_AROUND = 90
"""Characters shown before and after the beginning of a name."""
_ALLOWED = (
    "If you allow it, the program may call them any number of times in this run, with any arguments, and also by "
    "computed names."
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


async def confirm(client: Client, tools: Sequence[Tool], code: str, *, saved: str = "") -> Consent:
    """Ask whether a program may call these tools; `saved` is the name of a DSPy program."""
    if not tools:
        return Consent()
    elicitation = client.capabilities.get("elicitation")
    if elicitation is None or ("url" in elicitation and "form" not in elicitation):
        return Consent(unconfirmed="the client can't ask (it doesn't support elicitation)")
    # In a thread: a program can be long.
    message = await asyncio.to_thread(question, tools, code, saved)
    params = {"message": message, "requestedSchema": _SCHEMA}
    try:
        answers = await client.ask({_ASKED: {"method": "elicitation/create", "params": params}})
    except ClientRefusedError as refused:
        return Consent(unconfirmed=f"the client couldn't ask: {clean(refused.message, _MAX_DESCRIPTION)}")
    return _consent(answers[_ASKED], tools)


def _consent(answer: Mapping[str, Any], tools: Sequence[Tool]) -> Consent:
    action, content = answer.get("action"), answer.get("content")
    if action == "accept" and isinstance(content, dict) and content.get(_ASKED) is True:
        return Consent(confirmed=frozenset(tool.name for tool in tools))
    return Consent(unconfirmed="the user did not answer" if action == "cancel" else "the user declined")


def question(tools: Sequence[Tool], code: str, saved: str) -> str:
    """Return the text of the question."""
    who = f"The DSPy program {saved}" if saved else "A program written by the model"
    lines = [
        f"{who} can call destructive tools:",
        *(f"- {tool.name}: {' '.join(clean(tool.description, _MAX_DESCRIPTION).split())}" for tool in tools),
        _ALLOWED,
        "Allow this once?",
        # The program comes last, since its text could imitate the question's.
        _shown(code, {tool.name for tool in tools}),
    ]
    return "\n".join(lines)


def _shown(code: str, names: Collection[str]) -> str:
    """Return a short program whole, and excerpts of a longer one: those in comments last."""
    if len(code) <= _MAX_PROGRAM:
        return f"The program:\n{clean(code, _MAX_PROGRAM)}"
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, (*names, 'call_tool')))})\b")
    lines = re.split(r"\r\n|\r|\n", code)
    places = sorted(
        (line.lstrip().startswith("#"), number, found.start())
        for number, line in enumerate(lines, 1)
        for found in words.finditer(line)
    )
    shown = [f"The program has {len(lines):,} lines. Excerpts around these names and `call_tool`:"]
    for _, number, start in places[:_MAX_EXCERPTS]:
        excerpt = lines[number - 1][max(0, start - _AROUND) : start + _AROUND].strip()
        shown.append(f"{number}: " + visible(excerpt, _MAX_PROGRAM, keep="\t"))
    if len(places) > _MAX_EXCERPTS:
        shown.append(f"… and {len(places) - _MAX_EXCERPTS:,} more")
    if not places:
        shown.append("(none: only a script that it calls uses them)")
    return "\n".join(shown)
