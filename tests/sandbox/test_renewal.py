"""The fork server is renewed now and then, and a child that died while it waited is replaced."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.jail import fork_server as module
from halflap.sandbox.jail.jail import Jail
from halflap.sandbox.sandbox import Program
from sandboxing import Stage
from support import alive, children_of, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.mark.slow
def test_an_old_fork_server_is_replaced_while_programs_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_FORKS", 5)
    processes: set[int] = set()

    async def use() -> None:
        jail, servers = Jail(ExecutionConfig()), set()
        await jail.start()
        # Another has to be ready first, which takes as long as it takes.
        for _ in range(1_000):
            assert (await jail.run(Program("1"), Stage())).outcome == "ok"
            assert jail._pool.server is not None
            assert jail._pool.server._process is not None
            servers.add(jail._pool.server._process.pid)
            if len(servers) > 1:
                break
            await asyncio.sleep(0.02)
        processes.update(servers, *map(children_of, servers))
        await jail.close()
        assert len(servers) > 1

    run(use())
    assert eventually(lambda: not any(map(alive, processes)))


def test_a_waiting_child_that_died_is_not_used(run: Run) -> None:
    async def use() -> list[str]:
        jail = Jail(ExecutionConfig())
        await jail.start()
        for child in jail._pool._idle:
            child.kill()
            await child.exited()
        outcomes: list[str] = [(await jail.run(Program("1"), Stage())).outcome for _ in range(3)]
        await jail.close()
        return outcomes

    assert run(use()) == ["ok"] * 3
