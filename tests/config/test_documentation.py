from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config.servers import FOREIGN_KEYS
from halflap.config.table import SERVER_SETTINGS, SETTINGS, Setting

if TYPE_CHECKING:
    from config.conftest import Desk

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(yaml|json)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def in_words(default: Any) -> str:
    if default is None:
        return "none"
    if default in ((), {}):
        return "empty"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return (
        f"`{default}`"
        if isinstance(default, str)
        else f"{default:g}"
        if isinstance(default, float)
        else str(default)
    )


@pytest.mark.parametrize("setting", [*SETTINGS, *SERVER_SETTINGS], ids=lambda setting: setting.name)
def test_every_setting_is_documented_with_type_default_and_meaning(setting: Setting) -> None:
    row = f"| `{setting.name}` | {setting.kind.expected} | {in_words(setting.default)} | {setting.meaning} |"
    assert row in PAGE.splitlines()


def test_every_row_of_the_page_is_a_setting() -> None:
    documented = re.findall(r"^\| `([\w.]+)` \|.*\|.*\|.*\|$", PAGE, re.MULTILINE)
    assert sorted(documented) == sorted(setting.name for setting in (*SETTINGS, *SERVER_SETTINGS))


@pytest.mark.parametrize("key", sorted(FOREIGN_KEYS))
def test_every_key_that_is_ignored_is_named(key: str) -> None:
    assert f"`{key}`" in PAGE


def test_the_page_has_an_example_of_each_form() -> None:
    texts = [text for _, text in EXAMPLES]
    assert any('"mcpServers": {' in text for text in texts)
    assert any('"servers": {' in text for text in texts)
    assert any("servers:\n  - name:" in text for text in texts)


@pytest.mark.parametrize(("kind", "text"), EXAMPLES)
def test_every_example_of_the_page_can_be_used(desk: Desk, kind: str, text: str) -> None:
    desk.user(text, f"config.{kind}")
    assert desk.load(TRACKER_TOKEN="t", MODEL_KEY="k").warnings == ()


def test_the_python_of_the_page_runs() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["config"].servers[0].name == "time"
