"""Workflows whose tasks have tools, and what plays their programs without a sandbox."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
from typing import Any

from halflap.workflows.model.form import read_net
from halflap.workflows.run.check import check_runnable
from halflap.workflows.run.program import net_program


def net(*tasks: dict[str, Any], flows: str, **more: Any) -> dict[str, Any]:
    """Give a workflow; flows are written as `i>a a>b`, further fields of one are in `more` by that text."""
    pairs = [text.split(">") for text in flows.split()]
    return {
        "id": "tested",
        "input": "i",
        "output": "o",
        "tasks": list(tasks),
        "flows": [{"from": one, "to": other, **more.get(f"{one}_{other}", {})} for one, other in pairs],
        **{key: value for key, value in more.items() if key in {"conditions", "kept"}},
    }


def task(name: str, tool: str | None = "say", what: Any = None, **more: Any) -> dict[str, Any]:
    if tool is None:
        return {"id": name, "label": None, **more}
    arguments = {"what": name if what is None else what}
    return {"id": name, "tool": f"mcp__counting__{tool}", "arguments": arguments, **more}


class ToolError(Exception):
    """What programs know a tool's failure by."""


class Played:
    """A run of a workflow's program, with tools that write down that they were called."""

    def __init__(self, workflow: dict[str, Any], **given: Any) -> None:
        self.log: list[str] = []
        self.trace: list[str] = []
        self.results: dict[str, Any] = {}
        self.error = ""
        read = read_net(workflow)
        check_runnable(read, given)
        asyncio.run(self._play(net_program(read, given)))

    async def _play(self, code: str) -> None:
        names = {"ToolError": ToolError}
        tools = {f"mcp__counting__{name}": getattr(self, f"_{name}") for name in ("say", "slow", "fail")}
        program = compile(code, "program.py", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                made = eval(program, {**names, **tools})
                if inspect.isawaitable(made):
                    await made
            except (ValueError, RuntimeError) as error:
                self.error = str(error)
                return
        told = json.loads(printed.getvalue())
        self.trace, self.results = told["trace"], told["results"]

    async def _say(self, what: Any) -> dict[str, Any]:
        self.log.append(f"say {what}")
        return {"what": what, "times": self.log.count(f"say {what}")}

    async def _slow(self, what: Any) -> dict[str, Any]:
        self.log.append(f"slow {what}")
        await asyncio.sleep(0.02)
        self.log.append(f"end {what}")
        return {"what": what}

    async def _fail(self, what: Any) -> dict[str, Any]:
        self.log.append(f"fail {what}")
        await asyncio.sleep(0)
        raise ToolError("it does not work")
