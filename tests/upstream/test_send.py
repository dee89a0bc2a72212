"""A call that fails after its caller was cancelled is not logged as an unhandled exception."""

from __future__ import annotations

import asyncio
import gc
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from halflap.config import ServerConfig
from halflap.core.values import CallContext
from halflap.upstream.connection import RequestFailedError
from halflap.upstream.log import ServerLog
from halflap.upstream.upstream import Upstream

if TYPE_CHECKING:
    from halflap.upstream.lifecycle import Shared
    from halflap.upstream.session import Session

SERVER = ServerConfig(name="s", transport="stdio", command="x")


@pytest.mark.parametrize("when", ["as it is cancelled", "while it is given up", "long after"])
def test_a_call_that_fails_when_its_caller_is_cancelled_is_no_unhandled_error(when: str) -> None:
    complaints: list[Any] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
        failing = asyncio.Event()

        async def call(*_: Any) -> None:
            try:
                await failing.wait()
            except asyncio.CancelledError:
                if when == "long after":
                    await asyncio.sleep(0.1)
            raise RequestFailedError(-32603, "Internal server error")

        session = cast("Session", SimpleNamespace(request=call, is_modern=False))
        upstream = Upstream(SERVER, cast("Shared", SimpleNamespace(guardian=None)), ServerLog(None, "s"))
        waiting = asyncio.create_task(upstream._send(session, "tools/call", {"name": "t"}, CallContext()))
        await asyncio.sleep(0.05)
        if when == "as it is cancelled":
            failing.set()
            # The call fails in the next step of the loop; its caller hears of both in the one after.
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.sleep(0.15)

    asyncio.run(scenario())
    gc.collect()
    assert complaints == []
