"""Monty says what holds programs, or why none can run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.monty.monty import Monty

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from halflap.sandbox.sandbox import Readiness

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


async def readiness(config: ExecutionConfig) -> Readiness:
    monty = Monty(config)
    try:
        return await monty.ready()
    finally:
        await monty.close()


@pytest.mark.usefixtures("play")
def test_it_names_its_version_and_limits(run: Run) -> None:
    found = run(readiness(ExecutionConfig(cpu_seconds=7, max_memory_mb=64)))
    assert found.trouble is None
    assert found.layers[0].startswith("monty 1.")
    assert "7 s of computing, 64 MiB of memory" in found.layers


def test_without_the_package_it_says_how_to_install_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    found = run(readiness(ExecutionConfig()))
    assert found.trouble is not None
    assert found.trouble.endswith("pip install 'halflap[monty]'")


@pytest.mark.usefixtures("play")
def test_a_binary_that_does_not_start_is_trouble(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MONTY_BIN", str(tmp_path / "missing"))
    found = run(readiness(ExecutionConfig()))
    assert found.trouble is not None
    assert found.trouble.startswith("monty cannot be started: ")
