"""Calls of tools that do not exist are recorded like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halflap.core.errors import ScriptError, ToolNotFoundError
from sandbox.desk import Desk
from servers.memory import echo

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.store import CallRecord

SECRET = "ghp_" + "a1" * 18
TRIED = """
for name in ("nothing_like_it", "mcp__no__t", "x" * 5_000, "mcp__echo__fail"):
    try:
        await call_tool(name, text="hello")
    except ToolError:
        pass
"""


def test_a_call_of_an_unknown_tool_is_recorded_for_every_caller(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "bad.py").write_text("def main(*a): ...")
    traces = {"per_tool": {"mcp__echo__hush*": "off"}}
    with Desk({"traces": traces}, tmp_path, {"echo": echo()}) as desk:

        def newest() -> CallRecord:
            (record,) = desk.do(desk.gateway.recent_calls(1))
            return record

        with pytest.raises(ToolNotFoundError):
            desk.do(desk.gateway.call("mcp__echo__ehco", password="hunter2"))
        record = newest()
        assert (record.server, record.tool, record.definition_hash) == ("echo", "ehco", "")
        assert "Did you mean" in str(record.error)
        assert record.arguments == '{"password": "[redacted]"}'
        with pytest.raises(ToolNotFoundError):
            desk.do(desk.gateway.call(SECRET))
        assert newest().tool == "[redacted]"
        with pytest.raises(ScriptError):
            desk.do(desk.gateway.call("script__bad"))
        record = newest()
        assert (record.server, record.tool, record.outcome) == ("script", "bad", "script")
        with pytest.raises(ToolNotFoundError):
            desk.do(desk.gateway.call("mcp__echo__hush_hush"))
        assert newest() == record
        execution = desk.run(TRIED)
        _, calls = desk.do(desk.gateway.run(execution.run))
    words = ["tool-not-found"] * 3 + ["tool_error"]
    assert [call.outcome for call in execution.calls] == [call.outcome for call in calls] == words
    tried = [("", "nothing_like_it"), ("", "mcp__no__t"), ("", "x" * 60 + "…"), ("echo", "fail")]
    assert [(call.server, call.tool) for call in calls] == tried
