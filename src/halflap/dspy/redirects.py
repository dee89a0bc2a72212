"""Keeps a language model's address from leading elsewhere: a client would follow, and take a key along. Imports what DSPy brings."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

import httpx
from dspy._vendor.lm15.transports._types import AsyncTransportResponse, TransportResponse
from dspy.utils.exceptions import LMProviderError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NoAnswerError", "NotFollowed", "redirects_refused"]

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_LONGEST: Final = 100


@dataclass(frozen=True, slots=True)
class NotFollowed:
    """A reply that is no answer, whatever is in it: its status, and where it leads, if it leads anywhere."""

    status: int
    location: str | None

    @property
    def is_redirect(self) -> bool:
        """Whether it says to ask somewhere else; 300 and 304 do not."""
        return self.status in _REDIRECTS

    def place(self, asked: str) -> str:
        """Say where it leads, as far as that can be told to anybody: the rest of an address may hold secrets."""
        try:
            parts = urlsplit(urljoin(asked, self.location or ""))
            port = "" if parts.port is None else f":{parts.port}"
        except ValueError:
            return ""
        if not self.location or not parts.hostname or not parts.hostname.isprintable():
            return ""
        return f"{parts.scheme}://{parts.hostname[:_LONGEST]}{port}"


class NoAnswerError(LMProviderError):  # type: ignore[misc]  # DSPy has no types
    """The model's address gave a status that is neither an answer nor an error: it would again."""

    def __init__(self, reply: NotFollowed) -> None:
        super().__init__(message=f"status {reply.status}", status=reply.status)
        self.reply = reply


_LOCK = threading.Lock()
_NOTED: ContextVar[list[NotFollowed] | None] = ContextVar("halflap_dspy_redirects", default=None)


@contextmanager
def redirects_refused() -> Iterator[list[NotFollowed]]:
    """Have no redirection followed by what is asked within; gives the replies that are no answers, as they came."""
    with _LOCK:
        _guard()
    noted: list[NotFollowed] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def _note(status: int, location: str | None) -> None:
    noted = _NOTED.get()
    if noted is not None and 300 <= status < 400:  # noqa: PLR2004  # neither success nor failure, in HTTP
        noted.append(NotFollowed(status, location))


def _guard() -> None:
    """Look at each reply as it comes. DSPy's own client takes whatever is in one for an answer; LiteLLM's follows it.

    Neither lets anybody say otherwise.
    """
    original: Any = httpx._client.BaseClient._build_redirect_request  # noqa: SLF001  # there is no other place
    if getattr(original, "asks_first", False):
        return

    def build(client: Any, request: httpx.Request, response: httpx.Response) -> Any:
        if _NOTED.get() is None:
            return original(client, request, response)
        raise httpx.TooManyRedirects("the address leads elsewhere", request=request)

    build.asks_first = True  # type: ignore[attr-defined]
    httpx._client.BaseClient._build_redirect_request = build  # noqa: SLF001
    _noting(httpx.Response, lambda one: (one.status_code, one.headers.get("location")))
    for kind in (TransportResponse, AsyncTransportResponse):
        _noting(kind, lambda one: (one.status, one.header("location")))


def _noting(kind: Any, told: Any) -> None:
    original = kind.__init__

    @wraps(original)
    def made(self: Any, *arguments: Any, **settings: Any) -> None:
        original(self, *arguments, **settings)
        _note(*told(self))

    kind.__init__ = made
