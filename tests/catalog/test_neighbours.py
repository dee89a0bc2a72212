from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.catalog.neighbours import Neighbours

WORLDS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.7])), min_size=1
)


def fits(world: list[tuple[str, float]]) -> dict[int, float]:
    tops = {server: max(fit for other, fit in world if other == server) for server, _ in world}
    return {number: fit + 0.5 * tops[server] for number, (server, fit) in enumerate(world) if fit}


@given(WORLDS, st.integers(1, 12))
def test_none_of_the_best_is_left_out(world: list[tuple[str, float]], limit: int) -> None:
    all_fits = fits(world)
    found = Neighbours([server for server, _ in world]).best([fit for _, fit in world], limit)
    best = sorted(all_fits, key=lambda number: (-all_fits[number], number))[:limit]
    assert {number: all_fits[number] for number in best}.items() <= found.items()
    assert found.items() <= all_fits.items()


@given(WORLDS)
def test_both_ways_to_add_them_up_agree(world: list[tuple[str, float]]) -> None:
    numpy = pytest.importorskip("numpy")
    added = Neighbours([server for server, _ in world]).all([fit for _, fit in world], numpy)
    assert {number: fit for number, fit in enumerate(added.tolist()) if fit} == fits(world)
