"""Answer one request of a client, which may have to answer questions of servers first.

A client of the older era is asked while it waits. One of the newer era gets the questions as the result and repeats its
request with the answers. Where the question came as the result of a server of the newer era, nothing has to be kept: its
state travels with the client, signed by us for this client and this request. Otherwise the work goes on in a task that
is parked until the client comes back: a bounded number for each principal, for a bounded time.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from halflap.core.errors import ClientRefusedError, InputRequiredError
from halflap.core.values import Forwarded, canonical
from halflap.server.passthrough.peer import ANSWER_SECONDS, LEVELS, Peer, is_modern
from halflap.server.passthrough.results import AsItCame
from halflap.server.principal import principal_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.server import ServerRequestContext

    T = TypeVar("T")

__all__ = ["Requests"]

MAX_OPEN = 64
"""Questions to clients of the newer era that wait for an answer at the same time."""
MAX_OPEN_EACH = 8
"""Of these, questions to one principal."""
_PARKED, _FORWARDED = "parked.", "forwarded."
_ANSWERS: Mapping[str, Any] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult | types.CreateMessageResultWithTools,
    "roots/list": types.ListRootsResult,
}


class Requests:
    """The requests under way on one front."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._parked: dict[str, _Conversation] = {}
        self._each = Counter[str]()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def answer(
        self,
        context: ServerRequestContext[Any, Any],
        work: Callable[[Peer, Forwarded], Awaitable[T]],
    ) -> T:
        """Do the work for a request and return its result; raises `AsItCame` with questions for the client."""
        meta = (context.params or {}).get("_meta")
        forwarded = Forwarded(meta={**meta} if isinstance(meta, dict) else {})
        if not is_modern(context):
            return await work(Peer(context), forwarded)
        params = context.params or {}
        state, answers = params.get("requestState"), params.get("inputResponses")
        about = _about(context)
        if isinstance(state, str) and state.startswith(_PARKED):
            conversation = self._resume(state, about, context)
            conversation.take(answers if isinstance(answers, dict) else {})
        else:
            opened = None if state is None else self._opened(state, about)
            forwarded = Forwarded(forwarded.meta, answers, opened, takes_questions=True)
            conversation = _Conversation(context, about, self)
            conversation.task = asyncio.create_task(self._work(work, conversation, forwarded))
            self._tasks.add(conversation.task)
            conversation.task.add_done_callback(self._tasks.discard)
        result: T = await self._outcome(conversation)
        return result

    async def _work(
        self, work: Callable[[Peer, Forwarded], Awaitable[T]], peer: _Conversation, forwarded: Forwarded
    ) -> T:
        try:
            return await work(peer, forwarded)
        except InputRequiredError as required:
            result = {**required.result}
            if isinstance(result.get("requestState"), str):
                result["requestState"] = self._sealed(result["requestState"], peer.about)
            raise AsItCame(result) from None

    async def _outcome(self, conversation: _Conversation) -> Any:
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
        # Of those still at work there are no more than questions; others ended meanwhile, and nobody asked for them.
        if len(self._parked) >= MAX_OPEN:
            for old in [state for state, one in self._parked.items() if one.task is None or one.task.done()]:
                self._expire(old)
        state = _PARKED + secrets.token_urlsafe(24)
        self._parked[state] = conversation
        conversation.expiry = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._expire, state)
        raise AsItCame(
            {"resultType": "input_required", "inputRequests": conversation.questions, "requestState": state}
        )

    def _resume(self, state: str, about: str, context: ServerRequestContext[Any, Any]) -> _Conversation:
        conversation = self._parked.get(state)
        if conversation is None or conversation.about != about:
            raise _unknown_state()
        del self._parked[state]
        conversation.context = context
        if conversation.expiry is not None:
            conversation.expiry.cancel()
        return conversation

    def _expire(self, state: str) -> None:
        conversation = self._parked.pop(state, None)
        if conversation is not None and conversation.task is not None:
            conversation.task.cancel()

    def reserve(self, principal: str) -> None:
        """Count a question; raises `ClientRefusedError` if there are too many."""
        if self._each.total() >= MAX_OPEN or self._each[principal] >= MAX_OPEN_EACH:
            raise ClientRefusedError(types.INVALID_REQUEST, "Too many questions wait for an answer already.")
        self._each[principal] += 1

    def release(self, principal: str) -> None:
        self._each[principal] -= 1
        if not self._each[principal]:
            del self._each[principal]

    def _sealed(self, state: str, about: str) -> str:
        return f"{_FORWARDED}{self._signature(state, about)}.{state}"

    def _opened(self, state: Any, about: str) -> str:
        """Return a server's state that a client sends back, if we gave it to this client for this request."""
        if isinstance(state, str) and state.startswith(_FORWARDED):
            signature, _, inner = state.removeprefix(_FORWARDED).partition(".")
            expected = self._signature(inner, about)
            if hmac.compare_digest(signature.encode(errors="replace"), expected.encode()):
                return inner
        raise _unknown_state()

    def _signature(self, state: str, about: str) -> str:
        return hmac.new(self._key, json.dumps([state, about]).encode(), sha256).hexdigest()

    def close(self) -> None:
        """Give up what is parked."""
        for state in list(self._parked):
            self._expire(state)


class _Conversation(Peer):
    """A client of the newer era: questions are kept until its request is answered with them."""

    def __init__(self, context: ServerRequestContext[Any, Any], about: str, requests: Requests) -> None:
        super().__init__(context)
        self.about = about
        self.asked = asyncio.Event()
        self.task: asyncio.Task[Any] | None = None
        self.expiry: asyncio.TimerHandle | None = None
        self._requests = requests
        self._principal = principal_of(context)
        self._open: dict[str, tuple[Mapping[str, Any], asyncio.Future[Mapping[str, Any]]]] = {}

    @property
    def identity(self) -> object:
        # Nothing says which requests over HTTP come from one client, not even the token.
        return self._requests if self.is_local else self

    @property
    def log_level(self) -> str | None:
        level = (self.context.meta or {}).get(types.LOG_LEVEL_META_KEY)
        return level if level in LEVELS else None

    def _wants(self, level: Any) -> bool:
        return self.log_level is not None and super()._wants(level)

    @property
    def questions(self) -> dict[str, Mapping[str, Any]]:
        """The requests without an answer yet."""
        return {key: request for key, (request, answer) in self._open.items() if not answer.done()}

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        self._requests.reserve(self._principal)
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
            self._requests.release(self._principal)

    def take(self, answers: Mapping[str, Any]) -> None:
        """Take the client's answers; a question whose answer is missing or malformed is asked again."""
        for key, (request, future) in self._open.items():
            answer = answers.get(key)
            try:
                TypeAdapter(_ANSWERS[request["method"]]).validate_python(answer, by_name=False)
            except (ValidationError, KeyError):
                continue
            if not future.done() and isinstance(answer, dict):
                future.set_result(answer)


def _about(context: ServerRequestContext[Any, Any]) -> str:
    """Return what a request and its repetition have in common: the principal, and all but what changes with it."""
    changing = {"_meta", "inputResponses", "requestState"}
    params = {key: value for key, value in (context.params or {}).items() if key not in changing}
    return sha256(canonical([principal_of(context), context.method, params]).encode()).hexdigest()


def _unknown_state() -> MCPError:
    return MCPError(
        types.INVALID_PARAMS,
        "This requestState is unknown, expired, or belongs to another request. Send the request again without it.",
    )
