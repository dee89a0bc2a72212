"""What importing the contract loads."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from dataclasses import dataclass
from halflap.contract import Contract, Page, ToolResponse, output_schema
output_schema(ToolResponse[Page[int]])
print(*sys.modules)
"""


def test_the_contract_loads_nothing_of_the_gateway() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert "pydantic" in loaded
    assert {name for name in loaded if name.startswith("halflap.")} == {
        name for name in loaded if name.startswith("halflap.contract")
    }
    assert not {"mcp", "mcp_types", "fastmcp", "sqlite3", "jsonschema_rs", "anyio", "rich", "typer"} & loaded
