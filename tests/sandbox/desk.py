"""A gateway on a loop of its own, so that many tests can share it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from halflap import Gateway
from halflap.config import Config
from halflap.core.values import CallContext

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from pathlib import Path

    from halflap.sandbox.run.report import Execution

_T = TypeVar("_T")


class Desk:
    """Runs programs for tests."""

    def __init__(
        self, config: Mapping[str, Any], folder: Path, servers: Mapping[str, Any] | None = None
    ) -> None:
        self._config = replace(Config.from_mapping(dict(config)), data_dir=folder)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.gateway = Gateway(self._config, servers)

    def __enter__(self) -> Self:
        self._thread.start()
        self.do(self.gateway.prepare())
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self.gateway.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def do(self, work: Coroutine[Any, Any, _T], seconds: float = 60.0) -> _T:
        """Do something on the gateway's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def run(self, code: str, **context: Any) -> Execution:
        """Run a program to its end."""
        return self.do(self.gateway.execute(code, CallContext(**context)))

    def run_all(self, *codes: str) -> list[Execution]:
        """Run programs side by side."""

        async def every() -> list[Execution]:
            return await asyncio.gather(*map(self.gateway.execute, codes))

        return self.do(every())

    def output(self, code: str) -> str:
        """Run a program that must not fail, and give what it printed."""
        execution = self.run(code)
        assert execution.ok, execution.text
        return execution.output
