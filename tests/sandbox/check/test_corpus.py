"""No correct program of the corpus is refused, and all run to their end. `tests/acceptance` has the planted mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.check.world import Program, missing_servers, more_programs, open_world, programs
from support import skip_missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.desk import Desk


def ran_well(desk: Desk, program: Program) -> None:
    if missing := program.servers & missing_servers():
        skip_missing(f"npm's {', '.join(sorted(missing))}; `make test` installs it where npm is there")
    execution = desk.run(program.code)
    assert execution.ok, execution.text
    assert "never awaited" not in execution.output
    _, calls = desk.do(desk.gateway.run(execution.run))
    assert [call.breach for call in calls if call.breach] == []


@pytest.mark.slow
@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_every_program_of_the_corpus_is_not_refused_and_runs_to_its_end(
    world: Desk, program: Program
) -> None:
    ran_well(world, program)


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
    checked = world.do(world.gateway.check(program.code))
    assert (checked.skipped, [str(mistake) for mistake in checked.mistakes]) == (None, [])
    ran_well(unchecked, program)
