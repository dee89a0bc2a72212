"""Ask the user, through the client, whether a program may call destructive tools."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import is_version_at_least

from halflap.core.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server import ServerRequestContext

    from halflap.core.values import Tool

__all__ = ["Confirmations", "Question", "Word"]

_STATELESS_SINCE = "2026-07-28"
_ASKED = "confirm"
_ANSWER_SECONDS = 600.0
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


@dataclass(frozen=True, slots=True)
class Word:
    """The user's decision: the tools that may be called, or why none may."""

    confirmed: frozenset[str] = frozenset()
    unconfirmed: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question sent as the answer to a call; the client calls again with the user's decision."""

    result: types.InputRequiredResult


class Confirmations:
    """Asks, and accepts an answer only once and only for the program that was asked about."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._used: dict[str, int] = {}

    async def ask(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.CallToolRequestParams,
        tools: Sequence[Tool],
        code: str,
        saved: str = "",
    ) -> Word | Question:
        """Ask by a request, or in the newer era, which has none, by the answer to the call."""
        capabilities = context.session.client_capabilities
        elicitation = None if capabilities is None else capabilities.elicitation
        if elicitation is None or (elicitation.form is None and elicitation.url is not None):
            return Word(unconfirmed="the client can't ask (it doesn't support elicitation)")
        if is_version_at_least(context.protocol_version, _STATELESS_SINCE):
            return await self._ask_by_answer(params, tools, code, saved)
        try:
            answer = await context.session.send_request(
                await _request(tools, code, saved),
                types.ElicitResult,
                request_read_timeout_seconds=_ANSWER_SECONDS,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except MCPError as error:
            return Word(unconfirmed=f"the client couldn't ask: {_clean(str(error), _LONGEST_DESCRIPTION)}")
        return _word(answer, tools)

    async def _ask_by_answer(
        self, params: types.CallToolRequestParams, tools: Sequence[Tool], code: str, saved: str
    ) -> Word | Question:
        answer, state = (params.input_responses or {}).get(_ASKED), params.request_state
        if isinstance(answer, types.ElicitResult) and state is not None and self._is_ours(state, tools, code):
            return _word(answer, tools)
        state = self._state(tools, code, secrets.token_hex(16), int(time.time() + _ANSWER_SECONDS))
        request = await _request(tools, code, saved)
        return Question(types.InputRequiredResult(input_requests={_ASKED: request}, request_state=state))

    def _state(self, tools: Sequence[Tool], code: str, nonce: str, until: int) -> str:
        about = json.dumps([code, [(tool.name, tool.hash) for tool in tools], nonce, until])
        return f"{nonce}.{until}.{hmac.new(self._key, about.encode(), sha256).hexdigest()}"

    def _is_ours(self, state: str, tools: Sequence[Tool], code: str) -> bool:
        nonce, _, rest = state.partition(".")
        until = rest.partition(".")[0]
        if not until.isdecimal() or int(until) < time.time() or nonce in self._used:
            return False
        if not hmac.compare_digest(self._state(tools, code, nonce, int(until)).encode(), state.encode()):
            return False
        now = time.time()
        self._used = {old: end for old, end in self._used.items() if end >= now}
        self._used[nonce] = int(until)
        return True


async def _request(tools: Sequence[Tool], code: str, saved: str = "") -> types.ElicitRequest:
    names = frozenset(tool.name for tool in tools)
    who = f"The DSPy program {saved}" if saved else "A program written by the model"
    lines = [f"{who} can call destructive tools:"]
    lines += [
        f"- {tool.name}: {' '.join(_clean(tool.description, _LONGEST_DESCRIPTION).split())}" for tool in tools
    ]
    lines += [
        _A_YES_TO_SAVED if saved else _A_YES,
        "Allow this once?",
        # The program comes last: its text could pretend to be part of the question.
        await _excerpt(code, names),
    ]
    params = types.ElicitRequestFormParams(message="\n".join(lines), requested_schema=_SCHEMA)
    return types.ElicitRequest(params=params)


async def _excerpt(code: str, names: frozenset[str]) -> str:
    from halflap.server.excerpt import LONGEST_WHOLE, excerpt  # noqa: PLC0415 -- it loads what listing the tools does not need

    return (
        excerpt(code, names) if len(code) <= LONGEST_WHOLE else await asyncio.to_thread(excerpt, code, names)
    )


def _word(answer: types.ElicitResult, tools: Sequence[Tool]) -> Word:
    if answer.action == "accept" and (answer.content or {}).get(_ASKED) is True:
        return Word(confirmed=frozenset(tool.name for tool in tools))
    return Word(unconfirmed="the user declined" if answer.action != "cancel" else "the user did not answer")


def _clean(text: str, longest: int) -> str:
    return clean(text, longest)
