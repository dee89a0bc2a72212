"""Runs programs over tools that answer with what their ports promise: every value says where it comes from."""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import inspect
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.graph.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from halflap.graph.paths import Path
    from halflap.graph.ports import Ports


MOST_CALLS = 100_000


@dataclass
class Play:
    """What a program did."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    printed: str = ""
    together: int = 0
    """How many calls were open at the same time, at most."""

    @property
    def value(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.printed)

    def of(self, tool: str) -> list[dict[str, Any]]:
        """Give the arguments of the calls of one tool."""
        return [arguments for name, arguments in self.calls if name.endswith(f"__{tool}") or name == tool]


def play(
    program: str, tools: Iterable[Ports], answers: Mapping[str, Callable[..., Any]] | None = None, **more: Any
) -> Play:
    """Run a program; tools answer by a function of the test's, else with values made from their places."""
    made = Play()
    open_calls = 0
    numbers = iter(range(10**6))

    def tool_of(one: Ports) -> Callable[..., Any]:
        async def call(**arguments: Any) -> Any:
            nonlocal open_calls
            made.calls.append((one.tool, arguments))
            assert len(made.calls) <= MOST_CALLS, "The gateway would have stopped it."
            open_calls += 1
            made.together = max(made.together, open_calls)
            await asyncio.sleep(0)
            open_calls -= 1
            known = answers or {}
            answer = known.get(one.tool) or known.get(one.original_name)
            return answer(**arguments) if answer is not None else _made(one, numbers)

        return call

    names = {one.tool: tool_of(one) for one in tools}

    async def call_tool(name: str, /, **arguments: Any) -> Any:
        return await names[name](**arguments)

    code = compile(program, "program.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    space: dict[str, Any] = {
        **{name: one for name, one in names.items() if not hasattr(builtins, name)},
        "call_tool": call_tool,
        **more,
    }
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        ended = eval(code, space)
        if inspect.isawaitable(ended):
            asyncio.run(_wait(ended))
    made.printed = output.getvalue()
    return made


async def _wait(one: Any) -> None:
    await one


def _made(ports: Ports, numbers: Any) -> Any:
    """Make a result: two of everything that there can be many of; what is optional is there every second time."""
    tree: dict[Any, Any] = {}
    for place in ports.places:
        node = tree
        for step in place.path:
            node = node.setdefault((step.kind, step.key), {})
        node["leaf"] = (f"{ports.tool}|{path_text(place.path)}", place.is_optional)
    return _value(tree, numbers)


def _value(node: dict[Any, Any], numbers: Any) -> Any:
    kinds = [one for one in node if one != "leaf"]
    if not kinds:
        said, optional = node.get("leaf", ("nothing", False))
        number = next(numbers)
        return None if optional and number % 2 else f"{said}|{number}"
    if kinds[0][0] == "each":
        return [_value(node[kinds[0]], numbers) for _ in range(2)]
    if kinds[0][0] in {"value", "name"}:
        key = next((node[one]["leaf"][0] for one in kinds if one[0] == "name"), "key")
        inner: dict[Any, Any] = next((node[one] for one in kinds if one[0] == "value"), {})
        return {f"{key}|{next(numbers)}": _value(inner, numbers) for _ in range(2)}
    made = {key: _value(node[kind, key], numbers) for kind, key in kinds if kind == "key"}
    return {key: value for key, value in made.items() if value is not None}


def found_at(value: Any, path: Path) -> list[Any]:
    """Give all that stands at a path of an argument."""
    if not path:
        return [value]
    if path[0].kind == "key":
        return found_at(value[path[0].key], path[1:])
    return [found for one in value for found in found_at(one, path[1:])]
