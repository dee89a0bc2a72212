"""Programs in a real monty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.monty.monty import Monty
from sandboxing import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from halflap.sandbox.sandbox import Ending


@pytest.fixture
def play(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> Callable[..., tuple[Ending, Stage]]:
    """Run a program, and give how it ended and what it said."""
    pytest.importorskip("pydantic_monty", reason="monty is not installed: pip install 'halflap[monty]'")

    def player(
        code: str, *, stage: Stage | None = None, seconds: int = 10, megabytes: int = 100
    ) -> tuple[Ending, Stage]:
        stage = stage or Stage()

        async def go() -> Ending:
            monty = Monty(ExecutionConfig(cpu_seconds=seconds, max_memory_mb=megabytes))
            try:
                return await stage.play(monty, code)
            finally:
                await monty.close()

        return run(go()), stage

    return player
