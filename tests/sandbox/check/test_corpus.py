"""The programs of the corpus are correct: they run to their end. `tests/acceptance` has what the check says about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.check.world import more_programs, open_world, programs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.desk import Desk


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk at which programs run whatever the check says."""
    with open_world(tmp_path_factory.mktemp("world"), execution={"check": "off"}) as desk:
        yield desk


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [pytest.param(one.code, id=one.name) for one in (*programs(), *more_programs()) if one.is_runnable],
)
def test_every_program_of_the_corpus_runs_to_its_end(world: Desk, code: str) -> None:
    execution = world.run(code)
    assert execution.ok, execution.text
    assert "never awaited" not in execution.output
    _, calls = world.do(world.gateway.run(execution.run))
    assert [call.breach for call in calls if call.breach] == []
