"""A gateway on a loop of its own, so that many tests can share it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from halflap import Gateway
from halflap.config import Config
from halflap.core.values import CallContext
from loop_thread import LoopThread

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from halflap.sandbox.run.report import Execution


class Desk(LoopThread):
    """Runs programs for tests."""

    def __init__(
        self, config: Mapping[str, Any], folder: Path, servers: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        self.gateway = Gateway(replace(Config.from_mapping(dict(config)), data_dir=folder), servers)

    def __enter__(self) -> Self:
        self.do(self.gateway.prepare())
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self.gateway.close())
        self.stop()

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
