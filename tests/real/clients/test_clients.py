"""Clients that other people wrote use a real server through Halflap: tools, resources, prompts, elicitation."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support import HALFLAP, PATIENCE, ROOT, node_program, skip_missing

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
PACKAGES = HERE / "node_modules"
ENVIRONMENTS = ROOT / ".venv" / "clients"
ANSWER = {"name": "Ann", "check": True}
DOCUMENT = "demo://resource/static/document/features.md"
Task = dict[str, Any]
Outcome = dict[str, Any]


def task(home: Path, front: str, era: str) -> Task:
    """Describe what a client should do in front of all servers, or of one."""
    config = home / "config.json"
    config.write_text(
        json.dumps({"servers": {"everything": {"command": node_program("mcp-server-everything")}}})
    )
    command = [HALFLAP, "serve", "-c", str(config)]

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        if front == "one":
            return {"name": tool, "arguments": arguments}
        name = "mcp__everything__" + tool.replace("-", "_")
        return {"name": "call_tool", "arguments": {"name": name, "arguments": arguments}}

    return {
        "command": [*command, "--only", "everything"] if front == "one" else command,
        "era": era,
        "answer": ANSWER,
        "tool": call("echo", message="hello"),
        "question": call("trigger-elicitation-request"),
        "resource": DOCUMENT,
        "prompt": "simple-prompt" if front == "one" else "everything__simple-prompt",
    }


def environment(home: Path) -> dict[str, str]:
    node = PACKAGES / "node" / "bin"
    folders = {"HALFLAP_CONFIG_DIR": str(home), "HALFLAP_DATA_DIR": str(home / "data"), "HOME": str(home)}
    return {**os.environ, **folders, "PATH": f"{node}:{os.environ['PATH']}"}


def run(home: Path, *command: str) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=environment(home),
        cwd=HERE,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def in_python(name: str) -> Callable[[Path, Task], Outcome]:
    def use(home: Path, task: Task) -> Outcome:
        python = ENVIRONMENTS / name / "bin" / "python"
        if not python.exists():
            skip_missing(f"the client {name}, which `make test-all` installs from PyPI")
        outcome: Outcome = json.loads(run(home, str(python), str(HERE / f"use_{name}.py"), json.dumps(task)))
        return outcome

    return use


def node_client(name: str) -> None:
    if not (PACKAGES / "@modelcontextprotocol" / name).exists():
        skip_missing(f"the npm package {name}, which `make test-all` installs where npm is there")


def typescript(home: Path, task: Task) -> Outcome:
    node_client("client")
    outcome: Outcome = json.loads(run(home, "node", str(HERE / "use_typescript.mjs"), json.dumps(task)))
    return outcome


def inspector(home: Path, task: Task) -> Outcome:
    """Use Inspector's command line, which keeps a connection in a daemon between two commands."""
    node_client("inspector")
    mcpdo = str(PACKAGES / ".bin" / "mcpdo")
    exports = dict(re.findall(r"export (\w+)='([^']*)'", run(home, mcpdo, "private")))
    prefix = ("env", *(f"{name}={value}" for name, value in exports.items()), mcpdo, "--format", "json")

    def ask(*arguments: str) -> Any:
        return json.loads(run(home, *prefix, "--connection", "halflap", *arguments))

    def call(tool: Task) -> Any:
        return ask("tools/call", tool["name"], "--tool-args-json", json.dumps(tool["arguments"]))

    def text(result: Any) -> str:
        return "\n".join(block.get("text", "") for block in result["content"])

    try:
        ask("connect", "--era", task["era"], "--transport", "stdio", "--", *task["command"])
        outcome = {
            "tools": [tool["name"] for tool in ask("tools/list")["tools"]],
            "resources": [one["uri"] for one in ask("resources/list")["resources"]],
            "prompts": [one["name"] for one in ask("prompts/list")["prompts"]],
            "tool": text(call(task["tool"])),
            "resource": ask("resources/read", task["resource"])["contents"][0]["text"],
            "prompt": ask("prompts/get", task["prompt"])["messages"][0]["content"]["text"],
        }
        # Nothing else is possible until it is answered.
        pending = call(task["question"])["elicitationPending"]["elicitationId"]
        answered = ask("elicitation/respond", pending, json.dumps(task["answer"]))
        return {**outcome, "question": text(answered)}
    finally:
        run(home, *prefix, "daemon", "stop")


CLIENTS = {
    "Inspector": (inspector, "legacy", "modern"),
    "TypeScript SDK": (typescript, "auto", "legacy"),
    "FastMCP": (in_python("fastmcp"), "auto", "auto"),
    "Python SDK of 2025": (in_python("sdk_of_2025"), "legacy", "legacy"),
    "LangChain": (in_python("langchain"), "legacy", "legacy"),
}
"""By name: how it is used, and the eras in front of one server and of all."""


@pytest.mark.slow
@pytest.mark.parametrize("front", ["one", "all"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_uses_everything_of_a_server(home: Path, client: str, front: str) -> None:
    use, era_of_one, era_of_all = CLIENTS[client]
    wanted = task(home, front, era_of_one if front == "one" else era_of_all)
    outcome = use(home, wanted)
    assert wanted["tool"]["name"] in outcome["tools"]
    assert DOCUMENT in outcome["resources"]
    assert wanted["prompt"] in outcome["prompts"]
    assert outcome["tool"] == "Echo: hello"
    assert "Name: Ann" in outcome["question"], shlex.join(wanted["command"])
    assert "Features" in outcome["resource"]
    assert "simple prompt" in outcome["prompt"]
