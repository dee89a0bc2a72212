"""docs/graph.md."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import configure, halflap
from halflap.config import Config
from halflap.demo import demo_config
from halflap.gateway import Gateway
from halflap.gateway.compose import MAX_SUGGESTIONS
from halflap.server.tools import own_tools
from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "graph.md").read_text()
COMMANDS = [
    line.strip() for line in PAGE.partition("## An example")[0].splitlines() if line.startswith("    halflap")
]


def test_every_argument_and_field_of_the_tool_is_there() -> None:
    definition = own_tools(Gateway(Config()))["suggest_workflow"].definition
    arguments = definition["inputSchema"]["properties"]
    for name in arguments:
        assert f"| `{name}` |" in PAGE
    suggestion = definition["outputSchema"]["properties"]["suggestions"]["items"]
    for name in suggestion["required"]:
        assert f"`{name}`" in PAGE or f"(`{name}`)" in PAGE
    assert arguments["limit"]["maximum"] == MAX_SUGGESTIONS
    assert f"from 1 to {MAX_SUGGESTIONS};" in PAGE


@pytest.mark.slow
def test_the_commands_at_its_beginning_work(tmp_path: Path) -> None:
    configure(tmp_path, *demo_config()["servers"])
    assert len(COMMANDS) == 4
    for line in COMMANDS:
        command = re.split(r"\s{3,}", line)[0].partition(" | ")[0]
        done = halflap(*shlex.split(command)[1:], "-c", "halflap-test.json", home=tmp_path)
        assert (done.code, bool(done.out)) == (0, True), (command, done.err)
    # The last is piped into `halflap run -`.
    ran = halflap("run", "-", "-c", "halflap-test.json", home=tmp_path, stdin=done.out.encode())
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["orders"]


@pytest.mark.slow
def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "servers.yaml").write_text(json.dumps(demo_config()))
    body = "\n".join(f"    {line}" for line in code.splitlines())
    names: dict[str, Any] = {}
    exec(f"async def main():\n{body}\n    return locals()", names)
    found = asyncio.run(names["main"]())
    assert found["execution"].outcome == "ok"
    assert "mcp__sales__customer_search" in found["fed"]
    assert found["why"].edge is not None
