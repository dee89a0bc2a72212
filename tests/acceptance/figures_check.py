"""Programs for the check: the project's corpus with planted mistakes, and lines made from real declared schemas.

The definitions of the corpus's tools and the mistakes are frozen beside this file. A mistake is the byte at which it
begins, what stands there, and what is put in its place.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from acceptance.figures_gateway import Replay, batched
from halflap.catalog import namespaced
from halflap.core.values import Tool
from sandbox.check.world import more_programs, programs
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

    from halflap import Gateway

Schema = dict[str, Any]
HERE = Path(__file__).parent
LINES_A_PROGRAM = 12
DEEPEST = 4
SHORTEST = 5
"""Swapping two letters of a shorter key gives an unrelated one."""
_UNIONS = ("anyOf", "oneOf", "allOf")
_PREAMBLE = "import json\nanything = json.loads('{}')\n"


# The project's corpus --------------------------------------------------------------------------------


def corpus_servers() -> dict[str, Replay]:
    return {server: Replay(tools) for server, tools in _definitions().items()}


def corpus_tools() -> dict[str, Tool]:
    """Return the tools of those servers by the names that programs use."""
    tools = [
        Tool(
            namespaced(server, one["name"]),
            server,
            one["name"],
            one.get("description") or "",
            one["inputSchema"],
            one.get("outputSchema"),
        )
        for server, listed in _definitions().items()
        for one in listed
    ]
    return {one.name: one for one in tools}


def _definitions() -> dict[str, list[Schema]]:
    definitions: dict[str, list[Schema]] = json.loads((HERE / "figures_definitions.json").read_text())
    return definitions


def correct_programs() -> list[str]:
    """Return every correct program: the long ones, the short ones, and the snippets."""
    snippets = (ROOT / "tests" / "sandbox" / "check" / "fine.txt").read_text().split("---\n")[1:]
    return [*(one.code for one in (*programs(), *more_programs())), *snippets]


def planted_mistakes() -> list[str]:
    """Return the long programs with one mistake each."""
    planted = []
    correct = {one.name: one.code for one in programs()}
    for program, kinds in json.loads((HERE / "figures_mistakes.json").read_text()).items():
        code = correct[program].encode()
        for start, before, after in (place for places in kinds.values() for place in places):
            head, tail = code[:start], code[start:]
            assert tail.startswith(before.encode()), (
                f"{program} has changed since mistakes were planted in it"
            )
            planted.append((head + after.encode() + tail.removeprefix(before.encode())).decode())
    return planted


# Real declared schemas -------------------------------------------------------------------------------


def key_lines(tool: Schema) -> list[tuple[str, str | None]]:
    """Return a line for each declared key of a result, and the same with the key misspelt where that is certainly wrong.

    It is where nothing on the way may be one of several objects or have keys that are not declared.
    """
    root = tool.get("outputSchema", {})
    found: list[tuple[str, str | None]] = []

    def visit(schema: Schema, access: str, depth: int, *, sure: bool) -> None:
        options = list(_options(schema, root))
        keys = {key: inner for one in options for key, inner in one.get("properties", {}).items()}
        sure &= len(options) == 1 and not options[0].keys() & {"additionalProperties", "patternProperties"}
        for key, inner in keys.items():
            wrong = next((one for one in _swapped(key) if one not in keys), None) if sure else None
            found.append((_read(tool, access, key), wrong and _read(tool, access, wrong)))
            if depth < DEEPEST:
                visit(inner, f"{access}[{key!r}]", depth + 1, sure=sure)
        for inner in [one["items"] for one in options if "items" in one][:1] if depth < DEEPEST else ():
            visit(inner, f"{access}[0]", depth + 1, sure=sure)

    properties = root.get("properties", {})
    # A sole `result` is a wrapper that programs never see.
    visit(properties["result"] if list(properties) == ["result"] else root, "", 0, sure=True)
    return found


def _read(tool: Schema, access: str, key: str) -> str:
    return f"print((await mcp__replay__{tool['name']}(**anything)){access}[{key!r}])"


def _swapped(key: str) -> Iterator[str]:
    for at in range(1, len(key) - 1 if len(key) >= SHORTEST else 0):
        yield key[:at] + key[at + 1] + key[at] + key[at + 2 :]


def _options(schema: Schema, root: Schema, depth: int = 0) -> Iterator[Schema]:
    """Yield what a value may be, with references followed and unions taken apart."""
    while "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    members = [one for word in _UNIONS for one in schema.get(word, ()) if one.get("type") != "null"]
    if not members or "properties" in schema:
        yield schema
    for one in members if depth < DEEPEST else ():
        yield from _options(one, root, depth + 1)


def call_lines(tool: Schema, random: Random) -> tuple[str, list[str]] | None:
    """Return a correct call with literal arguments, and calls with one missing, unknown, of a wrong type or value."""
    schema = tool["inputSchema"]
    properties, required = schema.get("properties", {}), schema.get("required", [])
    validator = jsonschema_rs.validator_for(schema)
    arguments = {name: _literal(properties.get(name, {})) for name in required if name.isidentifier()}
    if not arguments or not validator.is_valid(arguments) or schema.keys() & set(_UNIONS):
        return None
    chosen = random.choice(sorted(arguments))
    wrong = [{**arguments, chosen: [{"x": 1}]}, {**arguments, chosen: "no-such-value"}]
    wrong = [one for one in wrong if not validator.is_valid(one)]
    wrong += [
        {**arguments, f"{chosen}_x": 1},
        {name: arguments[name] for name in arguments if name != chosen},
    ]
    return _call(tool, arguments), [_call(tool, one) for one in wrong]


def _call(tool: Schema, arguments: dict[str, Any]) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"print(await mcp__replay__{tool['name']}({given}))"


def _literal(schema: Schema) -> Any:
    plain = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    kinds = schema.get("type", "string")
    return schema.get("enum", [plain.get(kinds if isinstance(kinds, str) else kinds[0], "some text")])[0]


# Verdicts --------------------------------------------------------------------------------------------


async def refused_programs(gateway: Gateway, codes: Iterable[str]) -> list[bool]:
    """Return whether the check refuses each program."""
    return [bool(await _wrong_lines(gateway, code)) for code in codes]


async def refused_lines(gateway: Gateway, lines: Iterable[str]) -> list[bool]:
    """Return whether the check refuses each line, with many lines in one program."""
    refused: list[bool] = []
    for some in batched(lines, LINES_A_PROGRAM):
        wrong = await _wrong_lines(gateway, _PREAMBLE + "\n".join(some))
        refused += [number in wrong for number, _ in enumerate(some, _PREAMBLE.count("\n") + 1)]
    return refused


async def _wrong_lines(gateway: Gateway, code: str) -> set[int]:
    # A busy machine may take longer than the check waits; such a program is asked about again.
    for _ in range(5):
        checked = await gateway.check(code)
        if checked.skipped is None:
            break
    assert checked.skipped is None, checked.skipped
    return {mistake.line for mistake in checked.mistakes}
