"""One gateway with its sandbox for all tests of this folder: they take a while to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from execution.desk import Desk
from support import python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Give a gateway in front of the echo server, with the defaults, that lets wrong programs run."""
    folder = tmp_path_factory.mktemp("execution")
    config = {
        "servers": [python_server("echo", "swift.py", protocol="legacy")],
        "execution": {"check": "off"},
    }
    with Desk(config, folder) as opened:
        yield opened


@pytest.fixture
def desk_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Desk]]:
    """Open a gateway with settings of one's own."""
    opened: list[Desk] = []

    def open_desk(
        *,
        servers: list[object] | None = None,
        tools: object = None,
        traces: object = None,
        **execution: object,
    ) -> Desk:
        config: dict[str, object] = {
            "servers": servers or [python_server("echo", "swift.py", protocol="legacy")],
            "execution": {"check": "off", **execution},
        }
        if tools is not None:
            config["tools"] = tools
        if traces is not None:
            config["traces"] = traces
        one = Desk(config, tmp_path_factory.mktemp("desk"))
        one.__enter__()
        opened.append(one)
        return one

    yield open_desk
    for one in opened:
        one.__exit__(None, None, None)
