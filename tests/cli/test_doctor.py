"""`halflap doctor`: its JSON, its page and its exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cli.program import OLD, PLAIN, configure, halflap
from halflap.cli.commands.doctor import count_tokens
from support import ROOT, python_server

if TYPE_CHECKING:
    from pathlib import Path

DOCTOR = ("doctor", "-c", "halflap-test.json")
HANGING = python_server("hangs", "unwilling.py", "silent", start_timeout_seconds=1)
TROUBLES = {
    "dies": "process-ended",
    "hangs": "start-timeout",
    "missing": "command-not-found",
    "away": "not-reached",
}


def test_every_server_has_a_row_and_each_failure_a_finding(tmp_path: Path) -> None:
    configure(
        tmp_path,
        PLAIN,
        python_server("dies", "unwilling.py", "dies"),
        HANGING,
        {"name": "missing", "command": "no-such-program"},
        {"name": "away", "url": "http://127.0.0.1:9/mcp"},
        {"name": "off", "command": "no-such-program", "disabled": True},
    )
    project = tmp_path / ".mcp.json"
    project.write_text(json.dumps({"mcpServers": {"more": {"command": "no-such-program"}}}))
    done = halflap(*DOCTOR, "--json", home=tmp_path)
    data = done.json
    assert (done.code, done.err, data["healthy"]) == (1, "", False)
    page = (ROOT / "docs" / "doctor.md").read_text()
    keys = {*data, *data["servers"][0], *data["findings"][0]}
    assert [key for key in keys if f"`{key}`" not in page] == []
    servers = {server["name"]: server for server in data["servers"]}
    found = {one["server"]: one for one in data["findings"]}
    for name, trouble in TROUBLES.items():
        assert (servers[name]["state"], servers[name]["trouble"]) == ("failed", trouble)
        assert found[name]["code"] == trouble
        assert found[name]["what"][1:] == servers[name]["lastError"][1:]
        assert str(tmp_path / "halflap-test.json") in found[name]["todo"]
    assert servers["dies"]["log"] == ["dies_at_start: the licence file is missing"]
    plain = servers["plain"]
    assert (plain["tools"], plain["outputs"]) == (14, {"declared": 2, "learned": 0, "unknown": 12})
    assert (plain["lastError"], plain["serverInfo"]) == (None, "swift 1.0.0")
    assert plain["startSeconds"] > 0
    tokens = data["tokens"]
    assert tokens["definitions"]["tokens"] == plain["tokens"]
    for part in ("definitions", "exposed"):
        assert 0 < tokens[part]["tokens"] < tokens[part]["characters"]
    assert (count_tokens("hello"), count_tokens("")) == (1, 0)
    assert data["untrustedProjectFiles"] == [str(project)]
    assert data["findings"][-1]["about"] == "project-file"


def test_a_hint_is_no_failure(tmp_path: Path) -> None:
    configure(tmp_path, OLD)
    done = halflap(*DOCTOR, home=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "[definition-left-out]" in done.out
    assert "\x1b" not in done.out
