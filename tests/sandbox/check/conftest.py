"""One examiner for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.check.room import Room

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def room() -> Iterator[Room]:
    with Room() as opened:
        yield opened
