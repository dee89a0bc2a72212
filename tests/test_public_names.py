from __future__ import annotations

import subprocess
import sys

import halflap


def test_the_exported_names_are_sorted_and_there() -> None:
    assert list(halflap.__all__) == sorted(halflap.__all__)
    for name in halflap.__all__:
        assert getattr(halflap, name) is not None


def test_the_registered_tool_begins_with_the_fields_that_it_is_known_by() -> None:
    fields = list(halflap.RegisteredTool.__dataclass_fields__)
    assert fields[:5] == ["name", "description", "parameters", "output_schema", "handler"]


def loaded_by(statement: str) -> set[str]:
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_importing_the_package_loads_none_of_its_parts() -> None:
    assert not {
        name for name in loaded_by("import halflap") if name.startswith(("halflap.", "mcp", "sqlalchemy"))
    }


def test_importing_the_gateway_loads_neither_the_protocol_nor_the_database() -> None:
    modules = loaded_by("from halflap import Gateway")
    assert not {"mcp", "sqlalchemy", "rich", "typer"} & modules


def test_serving_over_stdio_does_not_load_the_database_before_it_answers() -> None:
    modules = loaded_by("import halflap.server")
    assert "sqlalchemy" not in modules
    assert not {"halflap.calls", "halflap.catalog", "halflap.schema", "halflap.scripts"} & modules


def test_the_command_line_loads_no_command_before_it_is_asked_for() -> None:
    modules = loaded_by("import halflap.cli.app")
    assert {name for name in modules if name.startswith("halflap.cli.")} == {
        "halflap.cli.app",
        "halflap.cli.output",
    }
    assert not {"halflap.config", "halflap.gateway"} & modules
