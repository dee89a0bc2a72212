from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clients.homes import Home, settle

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return settle(tmp_path, monkeypatch)
