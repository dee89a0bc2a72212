from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from execution.check.world import Program, missing_servers, more_programs, open_world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from execution.desk import Desk

pytestmark = pytest.mark.slow
"""What holds in odd circumstances runs with `make test-all`."""

every_program = pytest.mark.parametrize("program", more_programs(), ids=lambda program: program.name)


@pytest.fixture(scope="module")
def unchecked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Give a world in which programs run whatever the check says, and may write what they like."""
    with open_world(tmp_path_factory.mktemp("unchecked"), execution={"check": "off"}) as desk:
        yield desk


@every_program
def test_no_correct_program_is_refused(world: Desk, program: Program) -> None:
    _skip_without_servers(program)
    checked = world.do(world.gateway.check(program.code))
    assert checked.skipped is None
    assert [str(mistake) for mistake in checked.mistakes] == []


@pytest.mark.slow
@every_program
def test_the_programs_are_correct_they_run_to_their_end(unchecked: Desk, program: Program) -> None:
    _skip_without_servers(program)
    execution = unchecked.run(program.code)
    assert execution.ok, execution.text
    _, calls = unchecked.do(unchecked.gateway.run(execution.run))
    assert [call.breach for call in calls if call.breach] == []


def test_every_program_has_a_name_of_its_own() -> None:
    assert len(more_programs()) >= 300
    assert [name for name, times in Counter(one.name for one in more_programs()).items() if times > 1] == []


def _skip_without_servers(program: Program) -> None:
    missing = program.servers & missing_servers()
    if missing:
        pytest.skip(f"needs npm's {', '.join(sorted(missing))}; `make test` installs it where npm is there")
