"""Programs in a real monty."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.choose import Sandbox
from halflap.sandbox.monty import Monty
from halflap.sandbox.sandbox import Program
from sandboxing import TOOLS, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap.sandbox.sandbox import Ending


@pytest.fixture(scope="module")
def play() -> Iterator[Callable[..., tuple[Ending, Stage]]]:
    """Run a program, and return how it ended and what it said."""
    pytest.importorskip("pydantic_monty", reason="monty is not installed: pip install 'halflap[monty]'")
    pools: dict[str, Sandbox] = {}
    with asyncio.Runner() as runner:

        def player(
            code: str, *, stage: Stage | None = None, arguments: dict[str, Any] | None = None, **limits: Any
        ) -> tuple[Ending, Stage]:
            stage = stage or Stage()
            config = {"cpu_seconds": 10, "max_memory_mb": 100, **limits}
            pool = pools.setdefault(str(config), Sandbox(Monty(ExecutionConfig(**config))))
            return runner.run(pool.run(Program(code, TOOLS, arguments), stage)), stage

        yield player
        for pool in pools.values():
            runner.run(pool.close())
