"""No program of the corpus is refused, and of those with a mistake put in, nearly all are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from execution.check.mutate import KINDS, mutations
from execution.check.world import Program, catalogue, missing_servers, programs
from support import some

if TYPE_CHECKING:
    from execution.desk import Desk

EVERY = 24


@pytest.mark.parametrize("program", some(programs(), every=8), ids=lambda program: program.name)
def test_no_correct_program_is_refused(world: Desk, program: Program) -> None:
    if program.servers & missing_servers():
        pytest.skip("needs servers from npm; `make test` installs them where npm is there")
    checked = world.do(world.gateway.check(program.code))
    assert checked.skipped is None
    assert [str(one) for one in checked.mistakes] == []


@pytest.mark.parametrize(
    "every", [EVERY, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_nearly_all_mistakes_against_what_is_declared_are_found(world: Desk, every: int) -> None:
    corpus = [one for one in programs() if not one.servers & missing_servers()]
    declared = [one for one in mutations(corpus, catalogue(world)) if one.declared][::every]
    made, found = Counter[str](), Counter[str]()
    for one in declared:
        made[one.kind] += 1
        found[one.kind] += not world.do(world.gateway.check(one.code)).ok
    assert set(made) == set(KINDS)
    assert found.total() / made.total() >= 0.95
    assert all(found[kind] / made[kind] >= 0.85 for kind in KINDS), {
        kind: (found[kind], made[kind]) for kind in KINDS
    }
