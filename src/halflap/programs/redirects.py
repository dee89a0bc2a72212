"""Keeps a language model's address from leading elsewhere: LiteLLM's client would follow, and take a key along."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["redirects_refused"]

_LED: ContextVar[list[int] | None] = ContextVar("halflap_dspy_redirects", default=None)


@contextmanager
def redirects_refused() -> Iterator[list[int]]:
    """Have no redirection followed by what is asked within; gives the statuses of those that were refused."""
    _guard()
    led: list[int] = []
    token = _LED.set(led)
    try:
        yield led
    finally:
        _LED.reset(token)


def _guard() -> None:
    """Put the question before httpx's own step. Neither LiteLLM nor DSPy lets anybody say that nothing be followed."""
    original: Any = httpx._client.BaseClient._build_redirect_request  # noqa: SLF001  # there is no other place
    if getattr(original, "asks_first", False):
        return

    def build(client: Any, request: httpx.Request, response: httpx.Response) -> Any:
        led = _LED.get()
        if led is None:
            return original(client, request, response)
        led.append(response.status_code)
        raise httpx.TooManyRedirects("the address leads elsewhere", request=request)

    build.asks_first = True  # type: ignore[attr-defined]
    httpx._client.BaseClient._build_redirect_request = build  # type: ignore[assignment,method-assign]  # noqa: SLF001
