from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.constraints import Constraints
from halflap.workflows.equivalence import equivalence
from halflap.workflows.form import read_net, write_net
from halflap.workflows.net import Rule
from halflap.workflows.optimize import optimize
from halflap.workflows.optimizing import genetic
from halflap.workflows.optimizing.evaluation import Evaluator
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.transforming.ground import Ground
from support import examples
from workflows.nets import block_net, block_nets, general_nets, net
from workflows.timed import line, ruled, small_nets, task, timed

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.optimize import Engine
    from halflap.workflows.optimizing.evaluation import Target

TARGETS = st.sampled_from(["performance", "behavioral", "balanced"])
ENGINES: list[Engine] = ["beam", "gepa"] if genetic.is_there() else ["beam"]
SMALL = st.one_of(
    timed(small_nets(5, gates=("and", "xor", "or"))),
    timed(small_nets(5, gates=("and", "xor")), ("bob", None)),
    timed(small_nets(6, gates=("xor",), loops=False), unknown=False),
)


def best_by_brute_force(one: Net, target: Target, most: int = 3_000) -> tuple[float, ...] | None:
    """Make every sequence of changes, and give the best rank of what may be taken; None if there are too many."""
    wanted = Constraints()
    evaluator = Evaluator(Ground(wanted.facts(one), wanted), layout_of(one), target)
    assert evaluator.start is not None
    seen = {evaluator.start.layout}
    waiting = [evaluator.start.layout]
    for layout in waiting:
        for new, _, _ in evaluator.neighbours(layout):
            if new not in seen:
                seen.add(new)
                waiting.append(new)
        if len(seen) > most:
            return None
    return min(found.rank for found in map(evaluator.evaluate, seen) if found.refused is None)


@settings(max_examples=examples(120))
@given(SMALL, TARGETS, st.sampled_from(ENGINES))
def test_the_optimum_found_is_that_of_all_sequences_of_changes(one: Net, target: Target, engine: Engine) -> None:
    expected = best_by_brute_force(one, target)
    if expected is not None:
        assert optimize(one, target, engine=engine).after.rank == expected
