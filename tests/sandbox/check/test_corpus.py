"""No program of the corpus is refused, all run to their end, and of those with a mistake put in nearly all are refused."""

from __future__ import annotations

import ast
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from sandbox.check.mutate import KINDS, Kind, Mutation, mutations
from sandbox.check.world import Program, catalogue, missing_servers, more_programs, open_world, programs
from support import skip_missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.sandbox import Execution
    from sandbox.desk import Desk

pytestmark = pytest.mark.slow

HERE = {"sales", "financial_data", "doc_retrieval", "helpdesk", "crm"}
SAMPLE = [program for program in programs() if program.servers <= HERE][::5]
SHORT = [program for program in more_programs() if program.servers <= HERE]
AT_ONCE = 8
"""Programs that are checked as one; a finding has its line, and so its program."""


def refused(desk: Desk, codes: Sequence[str]) -> list[str]:
    """Check programs one after the other as one program; returns those with a mistake in their lines."""
    checked = desk.do(desk.gateway.check("\n".join(codes)))
    assert checked.skipped is None
    lines = {mistake.line for mistake in checked.mistakes}
    found, line = [], 1
    for code in codes:
        after = line + code.count("\n") + 1
        found += [code] * bool(lines & set(range(line, after)))
        line = after
    return found


def skip_without_servers(program: Program) -> None:
    missing = program.servers & missing_servers()
    if missing:
        skip_missing(f"npm's {', '.join(sorted(missing))}; `make test` installs it where npm is there")


def ran_well(desk: Desk, program: Program) -> None:
    execution = desk.run(program.code)
    assert execution.ok, execution.text
    assert "never awaited" not in execution.output
    _, calls = desk.do(desk.gateway.run(execution.run))
    assert [call.breach for call in calls if call.breach] == []


@pytest.mark.parametrize("program", SAMPLE[::3], ids=lambda program: program.name)
def test_a_program_of_the_corpus_is_not_refused_and_runs_to_its_end(here: Desk, program: Program) -> None:
    ran_well(here, program)


def test_short_programs_one_after_the_other_are_not_refused(here: Desk) -> None:
    # A sample of many: correct programs change what they got, rebuild it and put it elsewhere.
    for first in range(0, len(SHORT), 5 * AT_ONCE):
        assert refused(here, [program.code for program in SHORT[first : first + AT_ONCE]]) == []


def test_nearly_all_mistakes_against_what_is_declared_are_found(here: Desk) -> None:
    made = [one for one in mutations(SAMPLE, catalogue(here)) if one.declared]
    tried = [one for kind in KINDS for one in [mutant for mutant in made if mutant.kind == kind][:AT_ONCE]]
    Random(0).shuffle(tried)
    found: set[str] = set()
    for first in range(0, len(tried), AT_ONCE):
        found |= set(refused(here, [one.code for one in tried[first : first + AT_ONCE]]))
    missed = [one for one in tried if one.code not in found]
    assert {one.kind for one in tried} == set(KINDS)
    assert len(missed) <= 0.1 * len(tried), [(one.kind, one.change) for one in missed]


# Everything -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_every_program_of_the_corpus_is_not_refused_and_runs_to_its_end(
    world: Desk, program: Program
) -> None:
    skip_without_servers(program)
    ran_well(world, program)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_of_all_mistakes_against_what_is_declared_nearly_all_are_found(world: Desk) -> None:
    corpus = [one for one in programs() if not one.servers & missing_servers()]
    made, found = Counter[str](), Counter[str]()
    for one in mutations(corpus, catalogue(world)):
        if one.declared:
            made[one.kind] += 1
            found[one.kind] += not world.do(world.gateway.check(one.code)).ok
    assert made.total() >= 800
    assert found.total() / made.total() >= 0.95
    assert all(found[kind] / made[kind] >= 0.85 for kind in KINDS), (found, made)


@pytest.fixture(scope="module")
def unchecked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A world in which programs run whatever the check says, and may write what they like."""
    with open_world(tmp_path_factory.mktemp("unchecked"), execution={"check": "off"}) as desk:
        yield desk


@pytest.mark.slow
@pytest.mark.parametrize("program", more_programs(), ids=lambda program: program.name)
def test_no_short_program_is_refused_and_all_run_to_their_end(
    world: Desk, unchecked: Desk, program: Program
) -> None:
    skip_without_servers(program)
    checked = world.do(world.gateway.check(program.code))
    assert (checked.skipped, [str(mistake) for mistake in checked.mistakes]) == (None, [])
    ran_well(unchecked, program)


# That the mistakes are some -------------------------------------------------------------------------------

# Lines that do not run, as the data is; a mistake in them is one all the same.
NOT_RUN = {
    ("finance_list_or_wrapped", 2),
    ("helpdesk_early_exit", 6),
    ("helpdesk_escalate_try_except", 4),
    ("helpdesk_people_defensive_unwrap", 2),
    ("sales_delete_only_if_told", 4),
    ("sales_delete_only_if_told", 5),
}
CATCHES_ALL = "finance_compare_tickers"
"""It catches every exception, and prints it in place of the row."""
LENIENT = {"everything", "files", "git", "memory", "time"}
"""Servers that ignore arguments they do not know."""


def test_a_mutant_is_another_program_with_as_many_lines(here: Desk) -> None:
    originals = {program.name: program.code for program in SAMPLE}
    for mutant in mutations(SAMPLE, catalogue(here)):
        compile(mutant.code, "program.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        assert mutant.code != originals[mutant.program]
        assert mutant.code.count("\n") == originals[mutant.program].count("\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_mutant_really_goes_wrong(world: Desk, unchecked: Desk, kind: Kind) -> None:
    found = [one for one in mutations(programs(), catalogue(world)) if one.kind == kind]
    for mutant in Random(kind).sample(found, min(30, len(found))):
        execution = unchecked.run(mutant.code)
        assert goes_wrong(execution) or is_silent(mutant), (mutant, execution.text)


def goes_wrong(execution: Execution) -> bool:
    """Return whether a program failed, had a call refused, or was told that a call was none."""
    refusals = {"invalid-arguments", "tool-not-found"}
    return (
        not execution.ok
        or any(call.outcome in refusals or "Unknown argument" in call.detail for call in execution.calls)
        or "never awaited" in execution.output
    )


def is_silent(mutant: Mutation) -> bool:
    """Return whether it is known why a mistake does not show."""
    server = (mutant.tool or "").removeprefix("mcp__").partition("__")[0]
    return (
        (mutant.program, mutant.line) in NOT_RUN
        or mutant.program == CATCHES_ALL
        or (mutant.kind == "renamed argument" and server in LENIENT)
    )
