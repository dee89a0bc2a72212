"""The best that is found is the best that there is: held against enumerations that know nothing of the search."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.workflows.form import write_net
from halflap.workflows.optimize import optimize
from halflap.workflows.optimizing import genetic
from halflap.workflows.score import score
from halflap.workflows.transform import TRANSFORMATIONS, transformed
from support import examples
from workflows.brute import TooMuchError, traces
from workflows.timed import busy, line, small_nets, task, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.net import Net
    from halflap.workflows.optimize import Engine

ENGINES: list[Engine] = ["beam", "gepa"] if genetic.is_there() else ["beam"]
Order = frozenset[tuple[int, int]]
"""Which comes before which."""


@cache
def series_parallel(tasks: tuple[int, ...]) -> frozenset[Order]:
    """Give every partial order of some tasks that can be said by one after the other and side by side."""
    if len(tasks) == 1:
        return frozenset([frozenset()])
    found = set()
    for size in range(1, len(tasks)):
        for first in itertools.combinations(tasks, size):
            rest = tuple(one for one in tasks if one not in first)
            for one, other in itertools.product(series_parallel(first), series_parallel(rest)):
                found.add(one | other)
                found.add(one | other | frozenset(itertools.product(first, rest)))
    return frozenset(found)


def took(order: Order, durations: list[float]) -> float:
    """Give how long a case takes if each waits for those before it alone."""
    ends: dict[int, float] = {}
    # Who has fewer before it comes first: before it are at least all that are before those.
    for one in sorted(range(len(durations)), key=lambda at: sum(then == at for _, then in order)):
        ends[one] = durations[one] + max((ends[a] for a, b in order if b == one), default=0.0)
    return max(ends.values())


def fastest(tasks: list[dict[str, Any]]) -> float:
    """Try every partial order in which whatever depends on each other stays as it is."""

    def data(one: dict[str, Any]) -> tuple[set[str], set[str]]:
        return set(one.get("reads", "?")), set(one.get("writes", "?"))

    kept = set()
    for (at, one), (later, other) in itertools.combinations(enumerate(tasks), 2):
        (reads, writes), (yours, written) = data(one), data(other)
        unknown = "?" in reads | writes | yours | written
        if unknown or writes & (yours | written) or reads & written:
            kept.add((at, later))
    orders = series_parallel(tuple(range(len(tasks))))
    durations = [one["duration"] for one in tasks]
    return min(took(order, durations) for order in orders if kept <= order)


@st.composite
def lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Give tasks that share few names, some of which say nothing of them."""
    names = st.lists(st.sampled_from("uvwxyz"), max_size=2, unique=True).map(" ".join)
    made = []
    for at in range(draw(st.integers(2, 5))):
        one = task(f"t{at}", draw(st.integers(1, 9)), draw(names), draw(names))
        if draw(st.integers(0, 9)) == 0:
            del one["reads"], one["writes"]
        made.append(one)
    return made


def test_there_are_as_many_orders_as_there_should_be() -> None:
    # How many labelled series-parallel orders there are of so many.
    assert [len(series_parallel(tuple(range(count)))) for count in range(1, 6)] == [1, 3, 19, 195, 2791]


@settings(max_examples=examples(600))
@given(lists(), st.sampled_from(ENGINES))
def test_nothing_made_of_blocks_that_keeps_what_depends_is_faster(
    tasks: list[dict[str, Any]], engine: Engine
) -> None:
    found = optimize(line(*tasks), "performance", engine=engine)
    assert found.after.times.makespan == fastest(tasks)


def reached(net: Net, most: int = 400) -> Iterator[Net]:
    """Make every sequence of changes that are said to keep the traces, and give all that comes of them."""
    keeping = [name for name, one in TRANSFORMATIONS.items() if one.keeps_traces]
    seen = {repr(net)}
    waiting = [net]
    for one in waiting:
        yield one
        for name in keeping:
            for new, _ in transformed(name, one):
                if repr(new) not in seen:
                    seen.add(repr(new))
                    waiting.append(new)
        assert len(seen) < most


def size(net: Net) -> int:
    told = write_net(net)
    conditions = {one["id"] for one in told.get("conditions", ())} | {told["input"], told["output"]}
    return len(told["tasks"]) + len(conditions) + len(told["flows"])


@settings(max_examples=examples(400))
@given(st.one_of(busy(6), timed(small_nets(5, gates=("and", "xor")))), st.sampled_from(ENGINES))
def test_nothing_smaller_with_the_same_traces_can_be_come_to(one: Net, engine: Engine) -> None:
    try:
        seen, longest = traces(one, 8), (score(one).performance.makespan or 0) + 1e-9
        # One choice of three is, where nothing is said, not as likely as one of two and then one of two: that may be slower.
        smallest = min(
            size(new)
            for new in reached(one)
            if traces(new, 8) == seen and (score(new).performance.makespan or 0) <= longest
        )
        found = optimize(one, "behavioral", engine=engine)
        assert traces(found.net, 8) == seen
    except TooMuchError:
        return
    assert size(found.net) == found.after.size == smallest


@pytest.mark.parametrize("engine", ENGINES)
def test_where_data_allows_more_than_blocks_can_say_it_is_the_best_of_what_they_can(engine: Engine) -> None:
    # c needs a, d needs a and b: no blocks let c begin before b ends and d not wait for c.
    tasks = [task("a", 1), task("b", 5), task("c", 5, "a"), task("d", 1, "a b")]
    found = optimize(line(*tasks), "performance", engine=engine)
    assert found.after.times.makespan == fastest(tasks) == 7
