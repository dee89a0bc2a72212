"""Generated pages are up to date and complete."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from support import CODES, ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

REFERENCE = ROOT / "docs" / "reference"


@cache
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def pages() -> dict[Path, str]:
    made: dict[Path, str] = generator().pages()
    return made


def test_the_generated_pages_are_up_to_date() -> None:
    stale = [path.name for path, text in pages().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run `make docs`"
    assert {*REFERENCE.iterdir()} <= {*pages()}


def commands() -> list[Any]:
    return list(generator().every_command())


@pytest.mark.parametrize(("path", "command"), [(path, command) for path, command, _ in commands()])
def test_help_texts_are_sentences(path: str, command: Any) -> None:
    assert (command.help or "").strip().endswith("."), path
    for parameter in command.params:
        meaning = getattr(parameter, "help", None) or ""
        assert meaning.rstrip().endswith("."), (path, parameter.name, meaning)
        assert meaning[0].isupper(), (path, parameter.name, meaning)


def test_every_field_of_an_mcp_tool_is_described_and_every_error_has_a_code() -> None:
    for tool in generator().own_tools():
        output = tool.definition.get("outputSchema", {})
        for name, schema in {**tool.input_schema["properties"], **output.get("properties", {})}.items():
            assert schema.get("description"), (tool.name, name)
        assert set(tool.errors) <= set(CODES)


def test_every_setting_is_described() -> None:
    assert all(meaning for rows in generator().settings().values() for *_, meaning in rows)


def test_every_environment_variable_is_on_the_configuration_page() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"\bHALFLAP_[A-Z_]+\b", source))
    assert {"HALFLAP_CONFIG", "HALFLAP_CONFIG_DIR", "HALFLAP_DATA_DIR"} <= named
    page = pages()[ROOT / "docs" / "configuration.md"]
    assert {name for name in named if f"`{name}`" not in page} == set()
