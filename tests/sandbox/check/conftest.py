"""One gateway in front of the servers of the corpus, and one examiner, for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.check.room import Room
from sandbox.check.world import open_world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.desk import Desk


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk in front of every server of the corpus that can be started here."""
    with open_world(tmp_path_factory.mktemp("world")) as desk:
        yield desk


@pytest.fixture(scope="session")
def room() -> Iterator[Room]:
    with Room() as opened:
        yield opened
