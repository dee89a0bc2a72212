"""Gateways with their sandbox that tests of this folder share: they take a while to start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sandbox.desk import Desk
from servers.memory import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Open = Callable[..., Desk]


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A gateway with the defaults that runs wrong programs, too."""
    config = {"execution": {"check": "off"}}
    with Desk(config, tmp_path_factory.mktemp("execution"), {"echo": echo()}) as opened:
        yield opened


@pytest.fixture(scope="session")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A gateway with every limit low."""
    limits = {
        "cpu_seconds": 1,
        "max_memory_mb": 64,
        "max_output_bytes": 100,
        "max_kept_output_bytes": 100_000,
        "max_calls": 10,
        "max_value_bytes": 40_000,
        "max_shown": 2,
        "max_shown_bytes": 300,
    }
    with Desk(
        {"execution": {"check": "off", **limits}}, tmp_path_factory.mktemp("strict"), {"echo": echo()}
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def desk_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Open a gateway with other settings, in front of an echo server in this process."""
    opened: list[Desk] = []

    def open_desk(*, servers: dict[str, Any] | None = None, config: Any = None, **execution: object) -> Desk:
        given = {"execution": {"check": "off", **execution}, **(config or {})}
        one = Desk(given, tmp_path_factory.mktemp("desk"), servers or {"echo": echo()})
        opened.append(one.__enter__())
        return one

    yield open_desk
    for one in opened:
        one.__exit__(None, None, None)
