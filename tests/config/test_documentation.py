"""docs/configuration.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config.servers import IGNORED_KEYS

if TYPE_CHECKING:
    from config.conftest import Desk

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(yaml|json)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_ignored_key_is_named() -> None:
    assert [key for key in IGNORED_KEYS if f"`{key}`" not in PAGE] == []


@pytest.mark.parametrize(("kind", "text"), EXAMPLES)
def test_every_example_of_the_page_can_be_used(desk: Desk, kind: str, text: str) -> None:
    desk.user(text, f"config.{kind}")
    config = desk.load(TRACKER_TOKEN="t", MODEL_KEY="k")
    assert config.warnings == ()
    assert [server.problems for server in config.servers if server.problems] == []


def test_the_python_of_the_page_runs() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["config"].servers[0].name == "time"
