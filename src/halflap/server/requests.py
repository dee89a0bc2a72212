"""Answer one request of a client, which may have to answer questions of servers first.

A client of the older era is asked while it waits. One of the newer era gets the questions as the result and repeats its
request with the answers. Where the question came as the result of a server of the newer era, nothing has to be kept: its
state travels with the client. Otherwise the work continues in a task that is parked until the client comes back: a bounded
number for each principal, for a bounded time. The SDK seals every state for this client and this request.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types.methods import INPUT_REQUIRED_METHODS

from halflap.core.errors import ClientRefusedError, InputRequiredError
from halflap.core.values import Forwarded
from halflap.server.client import ANSWER_SECONDS, LEVELS, Client, is_answer, is_modern
from halflap.server.tokens import principal_of

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    Context = ServerRequestContext[Any, Any]
    Work = Callable[[Client], Awaitable[dict[str, Any]]]

MAX_OPEN = 64
"""Requests of clients of the newer era that wait for an answer of theirs at the same time."""
MAX_OPEN_EACH = 8
"""Of these, requests of one principal."""
_PARKED, _FORWARDED = "parked.", "forwarded."
_tasks: set[asyncio.Task[dict[str, Any]]] = set()
"""Keeps work alive until it ends: the event loop holds only weak references to tasks."""


class Requests:
    """The requests under way on one front."""

    def __init__(self) -> None:
        security = RequestStateSecurity(
            keys=[secrets.token_bytes(32)], ttl=ANSWER_SECONDS, bind_principal=principal_of
        )
        self.boundary = RequestStateBoundary(security, default_audience=None)
        """The middleware that seals states on their way out and opens them on their way in."""
        self._parked: dict[str, _Conversation] = {}

    async def answer(self, context: Context, work: Work) -> dict[str, Any]:
        """Do the work for a request and return its result, or questions for the client."""
        if not is_modern(context) or context.method not in INPUT_REQUIRED_METHODS:
            return await work(Client(context))
        params = context.params or {}
        state, answers = params.get("requestState"), params.get("inputResponses")
        if isinstance(state, str) and state.startswith(_PARKED):
            conversation = self._resume(state, context)
            conversation.take(answers if isinstance(answers, dict) else {})
        else:
            conversation = _Conversation(context, self)
            inner = state.removeprefix(_FORWARDED) if isinstance(state, str) else None
            meta = conversation.forwarded.meta
            conversation.forwarded = Forwarded(meta, answers, inner, takes_questions=True)
            conversation.start(work)
        return await self._outcome(conversation)

    async def _outcome(self, conversation: _Conversation) -> dict[str, Any]:
        """Return the result of the work, or park it where there are questions."""
        task = conversation.task
        assert task is not None
        try:
            while not task.done() and not conversation.questions:
                conversation.asked.clear()
                asked = asyncio.ensure_future(conversation.asked.wait())
                try:
                    await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    asked.cancel()
        except asyncio.CancelledError:
            # The client does not wait any more.
            task.cancel()
            raise
        if task.done():
            return task.result()
        if not self._has_room(conversation.principal):
            # Some have ended while their clients were away.
            for old in [state for state, one in self._parked.items() if one.task is None or one.task.done()]:
                self._expire(old)
            if not self._has_room(conversation.principal):
                task.cancel()
                raise MCPError(types.INVALID_REQUEST, "Too many questions wait for an answer already.")
        state = _PARKED + secrets.token_urlsafe(24)
        self._parked[state] = conversation
        conversation.expiry = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._expire, state)
        questions = conversation.questions
        return {"resultType": "input_required", "inputRequests": questions, "requestState": state}

    def _resume(self, state: str, context: Context) -> _Conversation:
        conversation = self._parked.pop(state, None)
        if conversation is None:
            message = "This requestState is unknown or was used before. Send the request again without it."
            raise MCPError(types.INVALID_PARAMS, message)
        conversation.context = context
        if conversation.expiry is not None:
            conversation.expiry.cancel()
        return conversation

    def _expire(self, state: str) -> None:
        conversation = self._parked.pop(state, None)
        if conversation is not None and conversation.task is not None:
            conversation.task.cancel()

    def _has_room(self, principal: str) -> bool:
        own = sum(one.principal == principal for one in self._parked.values())
        return len(self._parked) < MAX_OPEN and own < MAX_OPEN_EACH

    def close(self) -> None:
        """Cancel what is parked."""
        for state in list(self._parked):
            self._expire(state)


class _Conversation(Client):
    """A client of the newer era: questions are kept until its request is answered with them."""

    def __init__(self, context: Context, requests: Requests) -> None:
        super().__init__(context)
        self.asked = asyncio.Event()
        self.task: asyncio.Task[dict[str, Any]] | None = None
        self.expiry: asyncio.TimerHandle | None = None
        self._requests = requests
        self._open: dict[str, tuple[Mapping[str, Any], asyncio.Future[Mapping[str, Any]]]] = {}

    def start(self, work: Work) -> None:
        self.task = asyncio.create_task(self._do(work))
        _tasks.add(self.task)
        self.task.add_done_callback(_tasks.discard)

    async def _do(self, work: Work) -> dict[str, Any]:
        try:
            return await work(self)
        except InputRequiredError as required:
            result = {**required.result}
            if isinstance(result.get("requestState"), str):
                result["requestState"] = _FORWARDED + result["requestState"]
            return result

    @property
    def identity(self) -> object:
        # Nothing says which requests over HTTP come from one client, not even the token.
        return self._requests if self.is_local else self

    @property
    def log_level(self) -> str | None:
        level = (self.context.meta or {}).get(types.LOG_LEVEL_META_KEY)
        return level if level in LEVELS else None

    @property
    def questions(self) -> dict[str, Mapping[str, Any]]:
        """The requests without an answer yet."""
        return {key: request for key, (request, answer) in self._open.items() if not answer.done()}

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        loop = asyncio.get_running_loop()
        keys: dict[str, str] = {}
        try:
            for key, request in requests.items():
                keys[key] = key if key not in self._open else f"{key}-{secrets.token_hex(4)}"
                self._open[keys[key]] = (request, loop.create_future())
            self.asked.set()
            async with asyncio.timeout(ANSWER_SECONDS):
                return {key: await self._open[unique][1] for key, unique in keys.items()}
        except TimeoutError:
            raise ClientRefusedError(types.REQUEST_TIMEOUT, "The client did not answer in time.") from None
        finally:
            for unique in keys.values():
                self._open.pop(unique, None)

    def take(self, answers: Mapping[str, Any]) -> None:
        """Take the client's answers; a question whose answer is missing or malformed is asked again."""
        for key, (request, future) in self._open.items():
            answer = answers.get(key)
            if not future.done() and isinstance(answer, dict) and is_answer(request["method"], answer):
                future.set_result(answer)
