"""The rule about the names of tools."""

from __future__ import annotations

import pytest

from halflap.lint.sample import tool
from lint.making import found


@pytest.mark.parametrize("name", ["a.b c", "a\n", "a\u3000b"])
def test_invalid_characters_are_reported(name: str) -> None:
    assert len(found("name-characters", tool(name))) == 1
