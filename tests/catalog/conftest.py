from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from catalog import worlds

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _closed_stores() -> Iterator[None]:
    yield
    while worlds.OPEN:
        asyncio.run(worlds.OPEN.pop().close())
