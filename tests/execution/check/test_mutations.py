from __future__ import annotations

import ast
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from execution.check.mutate import KINDS, Kind, Mutation, mutations
from execution.check.world import catalogue, programs
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from execution.desk import Desk
    from halflap.execution import Execution
    from halflap.values import Tool

ORIGINALS = {program.name: program.code for program in programs()}
SAMPLE = 30
# Lines that do not run, as the data is; a mistake in them is one all the same.
NOT_RUN = {
    ("finance_list_or_wrapped", 2),
    ("helpdesk_early_exit", 6),
    ("helpdesk_escalate_try_except", 4),
    ("helpdesk_people_defensive_unwrap", 2),
    ("sales_delete_only_if_told", 4),
    ("sales_delete_only_if_told", 5),
}
# It catches every exception, and prints it in place of the row.
CATCHES_ALL = "finance_compare_tickers"
# These servers take arguments that they do not know, and do without: worse than an error, and not to be seen here.
LENIENT = {"everything", "files", "git", "memory", "time"}
REFUSED = {"invalid-arguments", "tool-not-found"}


@pytest.fixture(scope="module")
def tools(world: Desk) -> Mapping[str, Tool]:
    return catalogue(world)


@pytest.fixture(scope="module")
def mutants(tools: Mapping[str, Tool]) -> list[Mutation]:
    return mutations(programs(), tools)


@pytest.fixture(scope="module")
def by_kind(mutants: list[Mutation]) -> dict[Kind, list[Mutation]]:
    return {kind: [one for one in mutants if one.kind == kind] for kind in KINDS}


def test_there_are_many_mutants_of_every_kind(by_kind: dict[Kind, list[Mutation]]) -> None:
    assert sum(map(len, by_kind.values())) >= 800
    assert [kind for kind, found in by_kind.items() if sum(one.declared for one in found) < 60] == []


def test_the_same_mutants_are_made_every_time(mutants: list[Mutation], tools: Mapping[str, Tool]) -> None:
    assert mutations(programs(), tools) == mutants


def test_no_mutant_is_made_twice(mutants: list[Mutation]) -> None:
    assert [code for code, times in Counter(one.code for one in mutants).items() if times > 1] == []


def test_a_mutant_differs_from_its_program_in_one_place_of_one_line(mutants: list[Mutation]) -> None:
    for mutant in mutants:
        original = ORIGINALS[mutant.program]
        put = mutant.after + "\n" * (mutant.before.count("\n") - mutant.after.count("\n"))
        lines = original.splitlines(keepends=True)
        start = sum(map(len, lines[: mutant.line - 1]))
        places = [
            at
            for at in range(start, start + len(lines[mutant.line - 1]))
            if original[:at] + put + original[at + len(mutant.before) :] == mutant.code
            and original.startswith(mutant.before, at)
        ]
        assert places, mutant
        assert mutant.code != original
        assert mutant.code.count("\n") == original.count("\n")


def test_a_mutant_is_still_a_program(mutants: list[Mutation]) -> None:
    for mutant in mutants:
        compile(mutant.code, "program.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_a_misspelt_key_is_one_that_nothing_has(by_kind: dict[Kind, list[Mutation]]) -> None:
    for mutant in by_kind["misspelt key"]:
        gone, new = _difference(mutant, _keys)
        assert (gone, new) == ([mutant.before], [mutant.after])
        assert mutant.after not in _strings(ORIGINALS[mutant.program])


def test_a_dropped_argument_is_one_that_the_tool_requires(
    by_kind: dict[Kind, list[Mutation]], tools: Mapping[str, Tool]
) -> None:
    for mutant in by_kind["dropped argument"]:
        gone, new = _difference(mutant, _arguments)
        assert (len(gone), new) == (1, [])
        tool, name, _ = gone[0]
        assert (tool, name in parse_schema(tools[tool]).required_params) == (mutant.tool, True)


def test_a_renamed_argument_is_one_that_the_tool_does_not_know(
    by_kind: dict[Kind, list[Mutation]], tools: Mapping[str, Tool]
) -> None:
    for mutant in by_kind["renamed argument"]:
        [(_, _, before)], [(tool, name, after)] = _difference(mutant, _arguments)
        assert before == after
        assert name not in tools[tool].input_schema["properties"]


def test_an_argument_of_the_wrong_type_or_value_is_one_that_the_schema_refuses(
    by_kind: dict[Kind, list[Mutation]], tools: Mapping[str, Tool]
) -> None:
    for mutant in by_kind["wrong type"] + by_kind["wrong enum value"]:
        [(_, _, before)], [(tool, name, after)] = _difference(mutant, _arguments)
        value = ast.literal_eval(after)
        problems = parse_schema(tools[tool]).validate_arguments({name: value})
        assert [one for one in problems if one.path.startswith(name)], mutant
        is_of_same_type = type(value) is type(ast.literal_eval(before))
        assert is_of_same_type is (mutant.kind == "wrong enum value")


def test_a_program_without_an_await_is_else_the_same(by_kind: dict[Kind, list[Mutation]]) -> None:
    for mutant in by_kind["removed await"]:
        original = ORIGINALS[mutant.program]
        assert _awaits(mutant.code) == _awaits(original) - 1
        assert _without_awaits(mutant.code) == _without_awaits(original)


def test_a_wrong_tool_name_is_the_name_of_no_tool(
    by_kind: dict[Kind, list[Mutation]], tools: Mapping[str, Tool]
) -> None:
    for mutant in by_kind["wrong tool name"]:
        gone, new = _difference(mutant, _names)
        assert gone == [mutant.tool]
        assert new[0] not in tools


def test_a_list_taken_for_a_dict_is_given_a_key(by_kind: dict[Kind, list[Mutation]]) -> None:
    for mutant in by_kind["list as dict"]:
        _, new = _difference(mutant, _subscripts)
        assert any(one.endswith("']") for one in new), mutant


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_mutant_really_goes_wrong(world: Desk, by_kind: dict[Kind, list[Mutation]], kind: Kind) -> None:
    found = by_kind[kind]
    for mutant in Random(kind).sample(found, min(SAMPLE, len(found))):
        execution = world.run(mutant.code)
        assert _goes_wrong(execution) or _is_silent(mutant), (mutant, execution.text)


def _goes_wrong(execution: Execution) -> bool:
    """Say whether a program failed, or had a call refused, or is told that a call was none."""
    return (
        not execution.ok
        or any(call.outcome in REFUSED or "Unknown argument" in call.detail for call in execution.calls)
        or "was never awaited: nothing was called" in execution.output
    )


def _is_silent(mutant: Mutation) -> bool:
    """Say whether it is known why a mistake does not show."""
    server = (mutant.tool or "").removeprefix("mcp__").partition("__")[0]
    return (
        (mutant.program, mutant.line) in NOT_RUN
        or mutant.program == CATCHES_ALL
        or (mutant.kind == "renamed argument" and server in LENIENT)
    )


def _difference(mutant: Mutation, parts: Any) -> tuple[list[Any], list[Any]]:
    """Say what the program has that the mutant has not, and the other way round."""
    before, after = Counter(parts(ORIGINALS[mutant.program])), Counter(parts(mutant.code))
    return list((before - after).elements()), list((after - before).elements())


def _keys(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                yield key


def _strings(code: str) -> set[str]:
    return {
        node.value
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _arguments(code: str) -> Iterator[tuple[str, str | None, str]]:
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Name(id=name), keywords=keywords) if name.startswith("mcp__"):
                yield from ((name, one.arg, ast.unparse(one.value)) for one in keywords)


def _names(code: str) -> Iterator[str]:
    return (node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name))


def _subscripts(code: str) -> Iterator[str]:
    return (ast.unparse(node) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Subscript))


def _awaits(code: str) -> int:
    return sum(isinstance(node, ast.Await) for node in ast.walk(ast.parse(code)))


def _without_awaits(code: str) -> str:
    class Without(ast.NodeTransformer):
        def visit_Await(self, node: ast.Await) -> ast.AST:
            return self.generic_visit(node.value)

    return ast.dump(Without().visit(ast.parse(code)))
