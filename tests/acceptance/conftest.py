"""Fixtures for the acceptance tests: recordings, each made once for all test processes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from acceptance.recordings import Recordings

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Recordings:
    return Recordings(tmp_path_factory)


@pytest.fixture(scope="session")
def session_at(recordings: Recordings) -> Callable[..., dict[str, Any]]:
    """Return all answers that a client gets over a transport and protocol version."""

    def session(transport: str, mode: str, **options: Any) -> dict[str, Any]:
        from acceptance import sessions  # noqa: PLC0415 -- only the process that records needs the MCP library

        record = partial(sessions.record, recordings, transport=transport, mode=mode, **options)
        found: dict[str, Any] = recordings.get(f"{transport}-{mode}", record)
        return found

    return session


@pytest.fixture(scope="session")
def session(session_at: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return session_at("stdio", "auto")
