"""Answer requests whose client first has to answer questions from servers.

A client of the older era is asked while it waits. One of the newer era gets the questions as the result, and repeats its
request with the answers. If the questions are the result of a server of the newer era, that server's state travels with
the client and nothing is kept here. Otherwise the work continues in a task that is parked until the client comes back,
within limits of number and time. The SDK seals every state for its client and request.
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

MAX_PARKED = 64
"""Requests of clients of the newer era that wait for an answer at the same time."""
MAX_PARKED_EACH = 8
"""Of these, requests of one principal."""
_PARKED, _FORWARDED = "parked.", "forwarded."
_tasks: set[asyncio.Task[dict[str, Any]]] = set()
"""Keeps tasks alive until they end: the event loop holds only weak references."""


class Parking:
    """The requests of one front that wait for their clients."""

    def __init__(self) -> None:
        security = RequestStateSecurity(
            keys=[secrets.token_bytes(32)], ttl=ANSWER_SECONDS, bind_principal=principal_of
        )
        self.boundary = RequestStateBoundary(security, default_audience=None)
        """The middleware that seals outgoing states and opens incoming ones."""
        self._parked: dict[str, _NewerClient] = {}

    async def answer(self, context: Context, work: Work) -> dict[str, Any]:
        """Run the work for a request and return its result, or questions for the client."""
        if not is_modern(context) or context.method not in INPUT_REQUIRED_METHODS:
            return await work(Client(context))
        params = context.params or {}
        state, answers = params.get("requestState"), params.get("inputResponses")
        if isinstance(state, str) and state.startswith(_PARKED):
            client = self._resume(state, context)
            client.take(answers if isinstance(answers, dict) else {})
        else:
            client = _NewerClient(context, self)
            inner = state.removeprefix(_FORWARDED) if isinstance(state, str) else None
            client.forwarded = Forwarded(client.forwarded.meta, answers, inner, takes_questions=True)
            client.start(work)
        return await self._result_or_questions(client)

    async def _result_or_questions(self, client: _NewerClient) -> dict[str, Any]:
        task = client.task
        assert task is not None
        try:
            while not task.done() and not client.questions:
                client.asked = asyncio.get_running_loop().create_future()
                either: set[asyncio.Future[Any]] = {task, client.asked}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # The client cancelled its request.
            task.cancel()
            raise
        if task.done():
            return task.result()
        return self._park(client, task)

    def _park(self, client: _NewerClient, task: asyncio.Task[Any]) -> dict[str, Any]:
        """Keep the task until the client comes back, and return the questions."""
        for ended in [state for state, one in self._parked.items() if one.task is None or one.task.done()]:
            self._expire(ended)
        own = sum(one.principal == client.principal for one in self._parked.values())
        if len(self._parked) >= MAX_PARKED or own >= MAX_PARKED_EACH:
            task.cancel()
            raise MCPError(types.INVALID_REQUEST, "Too many requests are waiting for answers already.")
        state = _PARKED + secrets.token_urlsafe(24)
        self._parked[state] = client
        client.expiry = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._expire, state)
        return {
            "resultType": "input_required",
            "inputRequests": client.questions,
            "requestState": state,
        }

    def _resume(self, state: str, context: Context) -> _NewerClient:
        client = self._parked.pop(state, None)
        if client is None:
            message = "This requestState is unknown or was used before. Send the request again without it."
            raise MCPError(types.INVALID_PARAMS, message)
        client.context = context
        if client.expiry is not None:
            client.expiry.cancel()
        return client

    def _expire(self, state: str) -> None:
        client = self._parked.pop(state, None)
        if client is not None and client.task is not None:
            client.task.cancel()

    def close(self) -> None:
        """Cancel everything that is parked."""
        for state in list(self._parked):
            self._expire(state)


class _NewerClient(Client):
    """A client of the newer era: its questions wait until it repeats its request with the answers."""

    def __init__(self, context: Context, parking: Parking) -> None:
        super().__init__(context)
        self.asked: asyncio.Future[None] | None = None
        """Completed by the next question."""
        self.task: asyncio.Task[dict[str, Any]] | None = None
        self.expiry: asyncio.TimerHandle | None = None
        self._parking = parking
        self._open: dict[str, tuple[Mapping[str, Any], asyncio.Future[Mapping[str, Any]]]] = {}

    def start(self, work: Work) -> None:
        self.task = asyncio.create_task(self._run(work))
        _tasks.add(self.task)
        self.task.add_done_callback(_tasks.discard)

    async def _run(self, work: Work) -> dict[str, Any]:
        try:
            return await work(self)
        except InputRequiredError as required:
            result = {**required.result}
            if isinstance(result.get("requestState"), str):
                result["requestState"] = _FORWARDED + result["requestState"]
            return result

    @property
    def identity(self) -> object:
        # Over HTTP, requests of one client can't be told from those of others with the same token.
        return self._parking if self.is_local else self

    @property
    def log_level(self) -> str | None:
        level = (self.context.meta or {}).get(types.LOG_LEVEL_META_KEY)
        return level if level in LEVELS else None

    @property
    def questions(self) -> dict[str, Mapping[str, Any]]:
        """The requests that have no answer yet."""
        return {key: request for key, (request, answer) in self._open.items() if not answer.done()}

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        loop = asyncio.get_running_loop()
        keys: dict[str, str] = {}
        try:
            for key, request in requests.items():
                keys[key] = key if key not in self._open else f"{key}-{secrets.token_hex(4)}"
                self._open[keys[key]] = (request, loop.create_future())
            if self.asked is not None and not self.asked.done():
                self.asked.set_result(None)
            async with asyncio.timeout(ANSWER_SECONDS):
                return {key: await self._open[unique][1] for key, unique in keys.items()}
        except TimeoutError:
            raise ClientRefusedError(types.REQUEST_TIMEOUT, "The client did not answer in time.") from None
        finally:
            for unique in keys.values():
                self._open.pop(unique, None)

    def take(self, answers: Mapping[str, Any]) -> None:
        """Accept the client's valid answers; the other questions are asked again."""
        for key, (request, future) in self._open.items():
            answer = answers.get(key)
            if not future.done() and isinstance(answer, dict) and is_answer(request["method"], answer):
                future.set_result(answer)
