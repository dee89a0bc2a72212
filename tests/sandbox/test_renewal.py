"""The fork server is renewed now and then, and when it is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.choose import Sandbox
from halflap.sandbox.jail import pool as module
from halflap.sandbox.jail.jail import Jail
from halflap.sandbox.sandbox import Program
from sandboxing import Stage
from support import alive, children_of, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


@pytest.mark.slow
def test_one_that_has_served_long_enough_is_replaced_while_programs_go_on(
    run: Callable[[Coroutine[Any, Any, Any]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_FORKS", 5)

    async def use() -> None:
        backend = Jail(ExecutionConfig())
        jail = Sandbox(backend)
        try:
            servers = set()
            # Another has to be ready first, which takes as long as it takes.
            for _ in range(1_000):
                assert (await jail.run(Program("1"), Stage())).outcome == "ok"
                assert backend._pool.server is not None
                assert backend._pool.server._process is not None
                servers.add(backend._pool.server._process.pid)
                if len(servers) > 1:
                    break
                await asyncio.sleep(0.02)
            assert len(servers) > 1
            mine.update(servers, *(children_of(pid) for pid in servers))
        finally:
            await jail.close()

    mine: set[int] = set()
    run(use())
    assert eventually(lambda: not any(map(alive, mine)))


def test_a_waiting_child_that_died_is_not_used(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    async def use() -> list[str]:
        backend = Jail(ExecutionConfig())
        jail = Sandbox(backend)
        try:
            await jail.ready()
            for child in backend._pool._idle:
                child.kill()
                await child.exited()
            return [(await jail.run(Program("1"), Stage())).outcome for _ in range(3)]
        finally:
            await jail.close()

    assert run(use()) == ["ok"] * 3
