"""Generated pages are up to date and complete."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import halflap
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


@pytest.mark.parametrize(
    "name",
    [
        "errors.md",
        "configuration.md",
        "doctor.md",
        "reference/commands.md",
        "reference/mcp-tools.md",
        "reference/python.md",
        "reference/dspy-program.schema.json",
        "reference/config.schema.json",
    ],
)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    path = ROOT / "docs" / name
    assert path.read_text(encoding="utf-8") == pages()[path], "run `make docs`"


def test_every_generated_page_is_checked() -> None:
    assert {path.relative_to(ROOT / "docs").as_posix() for path in pages()} == {
        "errors.md",
        "configuration.md",
        "doctor.md",
        *(f"reference/{path.name}" for path in REFERENCE.iterdir()),
    }


def commands() -> list[Any]:
    return list(generator().every_command())


def test_every_command_has_its_heading_and_every_option_its_row() -> None:
    page = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^##+ (halflap [^\n]+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(sections) == [path for path, _, _ in commands()]
    for path, command, _ in commands():
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name not in {"help", "install_completion"}:
                for name in parameter.opts:
                    assert re.search(rf"[` ]{re.escape(name)}[`, ]", sections[path]), (path, name)


@pytest.mark.parametrize(("path", "command"), [(path, command) for path, command, _ in commands()])
def test_help_texts_are_sentences(path: str, command: Any) -> None:
    assert (command.help or "").strip().endswith("."), path
    for parameter in command.params:
        meaning = getattr(parameter, "help", None) or ""
        assert meaning.rstrip().endswith("."), (path, parameter.name, meaning)
        assert meaning[0].isupper(), (path, parameter.name, meaning)


def test_every_mcp_tool_has_a_heading_with_its_arguments_and_errors() -> None:
    page = (REFERENCE / "mcp-tools.md").read_text(encoding="utf-8")
    tools = generator().own_tools()
    assert {"search_tools", "list_callable_tools", "inspect_tool", "execute_program", "suggest_workflow"} <= {
        tool.name for tool in tools
    }
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for tool in tools:
        for name, schema in tool.input_schema["properties"].items():
            assert f"| `{name}` |" in sections[tool.name]
            assert schema.get("description"), (tool.name, name)
        for name, schema in tool.definition.get("outputSchema", {}).get("properties", {}).items():
            assert f"| `{name}` |" in sections[tool.name]
            assert schema.get("description"), (tool.name, name)
        assert set(tool.errors) <= set(CODES)
        for code in tool.errors:
            assert f"(../errors.md#{code})" in sections[tool.name]


@pytest.mark.parametrize("name", halflap.__all__)
def test_every_public_name_has_its_heading(name: str) -> None:
    page = (REFERENCE / "python.md").read_text(encoding="utf-8")
    assert re.search(rf"^## `?{name}`?$", page, re.MULTILINE)


def test_every_setting_is_on_the_page_of_the_configuration() -> None:
    page = pages()[ROOT / "docs" / "configuration.md"]
    documented = re.findall(r"^\| `([\w.]+)` \|.*\|.*\|.*\|$", page, re.MULTILINE)
    names = [name for rows in generator().settings().values() for name, *_ in rows]
    assert sorted(documented) == sorted(names)
    assert all(meaning for rows in generator().settings().values() for *_, meaning in rows)


def test_every_environment_variable_is_on_the_configuration_page() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"\bHALFLAP_[A-Z_]+\b", source))
    assert {"HALFLAP_CONFIG", "HALFLAP_CONFIG_DIR", "HALFLAP_DATA_DIR"} <= named
    page = pages()[ROOT / "docs" / "configuration.md"]
    assert {name for name in named if f"`{name}`" not in page} == set()
