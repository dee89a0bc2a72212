"""Ask the user, through the client, whether a program may call destructive tools."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ClientRefusedError
from halflap.core.text import clean, visible
from halflap.server.client import Client, Word

if TYPE_CHECKING:
    from halflap.core.values import Tool

_ASKED = "confirm"
_MAX_DESCRIPTION = 200
_MAX_PROGRAM = 2_000
"""Characters of a program that is shown whole; of a longer one, the places that name the tools are shown."""
_MAX_PLACES = 20
_AROUND = 90
"""Characters shown before and after a name."""
_ALLOWED = (
    "If you allow it, the program may call them any number of times in this run, with any arguments, and also through "
    "`call_tool` with a computed name."
)
_ALLOWED_SAVED = (
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
    # In a thread: a program can be long.
    message = await asyncio.to_thread(question, tools, code, saved)
    params = {"message": message, "requestedSchema": _SCHEMA}
    try:
        answers = await client.ask({_ASKED: {"method": "elicitation/create", "params": params}})
    except ClientRefusedError as refused:
        return Word(unconfirmed=f"the client couldn't ask: {clean(refused.message, _MAX_DESCRIPTION)}")
    return _word(answers[_ASKED], tools)


def _word(answer: Mapping[str, Any], tools: Sequence[Tool]) -> Word:
    action, content = answer.get("action"), answer.get("content")
    if action == "accept" and isinstance(content, dict) and content.get(_ASKED) is True:
        return Word(confirmed=frozenset(tool.name for tool in tools))
    return Word(unconfirmed="the user declined" if action != "cancel" else "the user did not answer")


def question(tools: Sequence[Tool], code: str, saved: str) -> str:
    """Return what the person is asked."""
    who = f"The DSPy program {saved}" if saved else "A program written by the model"
    return "\n".join(
        [
            f"{who} can call destructive tools:",
            *(
                f"- {tool.name}: {' '.join(clean(tool.description, _MAX_DESCRIPTION).split())}"
                for tool in tools
            ),
            _ALLOWED_SAVED if saved else _ALLOWED,
            "Allow this once?",
            # The program comes last: its text could pretend to be part of the question.
            _excerpt(code, {tool.name for tool in tools}),
        ]
    )


def _excerpt(code: str, names: Collection[str]) -> str:
    """Return a short program whole; of a longer one what surrounds the names, those in comments last."""
    if len(code) <= _MAX_PROGRAM:
        return f"The program:\n{clean(code, _MAX_PROGRAM)}"
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, (*names, 'call_tool')))})\b")
    places: list[tuple[bool, int, str]] = []
    lines = re.split(r"\r\n|\r|\n", code)
    for number, line in enumerate(lines, 1):
        end = 0
        for found in words.finditer(line):
            if found.start() < end:
                continue
            start, end = max(0, found.start() - _AROUND), found.end() + _AROUND
            before, after = "…" if line[:start].strip() else "", "…" if line[end:].strip() else ""
            shown = visible(line[start:end].strip(), _MAX_PROGRAM, keep="\t")
            places.append((line.lstrip().startswith("#"), number, f"{number}: {before}{shown}{after}"))
    more = f"… and {len(places) - _MAX_PLACES:,} more such places"
    return "\n".join(
        [
            f"Of the program, {len(lines):,} lines long, only excerpts are shown, around these names and `call_tool`:",
            *(
                [text for _, _, text in sorted(places)[:_MAX_PLACES]]
                or ["(only a script that it calls names them)"]
            ),
            *([more] if len(places) > _MAX_PLACES else []),
        ]
    )
