"""Who supplies what a tool needs: the cheapest choice, against all choices."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.graph.cover import Choice, cover_of
from support import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.graph.cover import Chosen

PRICES = st.sampled_from([0.1, 0.5, 1.0, 2.0])
Tool = tuple[float, dict[int, float]]


def tools(size: int, most: int) -> st.SearchStrategy[list[Tool]]:
    supplies = st.dictionaries(st.integers(0, size - 1), PRICES, min_size=1)
    return st.lists(st.tuples(st.sampled_from([1.0, 1.5, 3.0]), supplies), max_size=most)


def grown(size: int, offered: Sequence[Tool], missing: Sequence[float] | None) -> Choice | None:
    cover, last = cover_of(size, missing), None
    for at, (cost, units) in enumerate(offered):
        last = cover.add(str(at), cost, list(units.items())) or last
    return last


def price(size: int, offered: Sequence[Tool], taken: Sequence[int], missing: Sequence[float] | None) -> float:
    total = sum(offered[at][0] for at in taken)
    for unit in range(size):
        prices = [offered[at][1][unit] for at in taken if unit in offered[at][1]]
        prices += [] if missing is None else [missing[unit]]
        total += min(prices, default=math.inf)
    return total


def taken_by(chosen: Chosen | None) -> dict[int, int]:
    taken = {}
    while chosen is not None:
        taken[int(chosen.source)] = chosen.units
        chosen = chosen.before
    return taken


def check_told(size: int, offered: Sequence[Tool], found: Choice, missing: Sequence[float] | None) -> None:
    """What a choice says is what it costs, and every unit has one who supplies it or is said to be missing."""
    taken = taken_by(found.chosen)
    assert sum(taken.values()) + found.missing == (1 << size) - 1
    cost = sum(offered[at][0] for at in taken)
    for at, units in taken.items():
        cost += sum(offered[at][1][unit] for unit in range(size) if units >> unit & 1)
    cost += sum(missing[unit] for unit in range(size) if missing is not None and found.missing >> unit & 1)
    assert math.isclose(cost, found.cost)


@settings(max_examples=examples(300), deadline=None)
@given(tools(4, 6), st.none() | st.lists(st.sampled_from([1.0, 4.0, math.inf]), min_size=4, max_size=4))
def test_of_few_units_the_choice_is_the_cheapest_that_there_is(
    offered: list[Tool], missing: list[float] | None
) -> None:
    found = grown(4, offered, missing)
    every = [
        price(4, offered, taken, missing)
        for count in range(1, len(offered) + 1)
        for taken in itertools.combinations(range(len(offered)), count)
    ]
    nobody = price(4, offered, (), missing)
    least = min([*every, nobody], default=math.inf)
    if found is None or math.isinf(found.cost):
        assert math.isinf(least) or math.isclose(least, nobody)
        return
    assert math.isclose(found.cost, least)
    check_told(4, offered, found, missing)


@settings(max_examples=examples(200), deadline=None)
@given(tools(10, 14), st.none() | st.just([50.0] * 10))
def test_of_many_units_the_choice_is_one_that_no_tool_less_makes_cheaper(
    offered: list[Tool], missing: list[float] | None
) -> None:
    found = grown(10, offered, missing)
    able = {unit for _, units in offered for unit in units}
    if found is None:
        assert missing is None or not offered
        assert len(able) < 10 or not offered
        return
    check_told(10, offered, found, missing)
    taken = list(taken_by(found.chosen))
    for one in taken:
        assert price(10, offered, [at for at in taken if at != one], missing) >= found.cost - 1e-9
    # Whatever somebody supplies is supplied.
    assert found.missing == sum(1 << unit for unit in range(10) if unit not in able)
