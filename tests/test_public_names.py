from __future__ import annotations

import subprocess
import sys

import pytest

import halflap


def test_the_exported_names_are_sorted_and_exist() -> None:
    assert list(halflap.__all__) == sorted(halflap.__all__)
    for name in halflap.__all__:
        assert getattr(halflap, name) is not None


def test_a_registered_tool_begins_with_its_documented_fields() -> None:
    fields = list(halflap.RegisteredTool.__dataclass_fields__)
    assert fields[:5] == ["name", "description", "parameters", "output_schema", "handler"]


def loaded_by(statement: str) -> set[str]:
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_importing_loads_only_what_is_needed() -> None:
    package = loaded_by("import halflap")
    assert not {name for name in package if name.startswith(("halflap.", "mcp", "sqlite3"))}
    assert not {"mcp", "sqlite3", "rich", "typer"} & loaded_by("from halflap import Gateway")
    assert not {"halflap.config", "halflap.gateway"} & loaded_by("import halflap.cli.app")


@pytest.mark.slow
def test_serving_over_stdio_does_not_load_the_database_before_it_answers() -> None:
    assert "sqlite3" not in loaded_by("import halflap.server")
