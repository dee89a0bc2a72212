"""Values of every kind that a tool may return, and some that it may not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

WORDS = [
    "a",
    "b",
    "ok",
    "open",
    "x y",
    "",
    "2024-02-29",
    "2024-02-30",
    "2024-01-01T00:00:00Z",
    "10:00:00",
    "a@b.de",
]
WORDS += [
    "P1D",
    "10.0.0.1",
    "::1",
    "https://a.example/x?y=1#z",
    "urn:a",
    "0e984725-c51c-4bf4-9960-e1c80e27aba0",
    "a\n",
]
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=3))
NUMBERS = st.one_of(
    st.integers(-3, 3), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False)
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
KEYS = st.one_of(
    st.sampled_from(["a", "b", "c", "d", "e", "type", "status", "success"]),
    st.sampled_from(["id_12345", "2024-01-01", "a@b.de", "7", "x" * 65, "tab\t", "QW7T2B"]),
    st.sampled_from(["0e984725-c51c-4bf4-9960-e1c80e27aba0", "1e984725-c51c-4bf4-9960-e1c80e27aba0"]),
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    plain = st.dictionaries(KEYS, inner, max_size=5)
    tags = st.dictionaries(
        st.sampled_from(["type", "kind", "status", "success"]),
        st.one_of(st.sampled_from(["a", "b", "c", "d e", ""]), st.booleans(), st.integers(0, 1)),
        max_size=2,
    )
    return st.builds(lambda one, other: {**one, **other}, plain, tags)


def _rows(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Make arrays of many objects of few layouts."""
    return st.lists(_objects(inner), min_size=1, max_size=3).flatmap(
        lambda some: st.lists(st.sampled_from(some), min_size=4, max_size=8)
    )


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), _objects(inner), _rows(inner)),
    max_leaves=12,
)
DIGESTS = st.integers(0, 4)
OBSERVED = st.lists(st.tuples(ANYTHING, DIGESTS), max_size=8)
"""Results, each with the digest of its arguments, of which some are the same."""

VARIED = st.lists(
    st.builds(
        lambda fields, tags: {**fields, **tags},
        st.one_of(
            st.sampled_from(
                [{"id": 1}, {"id": 1, "name": "x"}, {"total": 5}, {"total": "5"}, {"total": 4, "k": 2}]
            ),
            st.just(dict.fromkeys("abcdefgh", 1)),
            st.dictionaries(st.sampled_from([*"abcdefgh"]), SCALARS, max_size=8),
        ),
        st.dictionaries(
            st.sampled_from(["type", "status", "success"]),
            st.one_of(st.sampled_from(["a", "b", "c", "d e"]), st.booleans(), st.integers(0, 1)),
            max_size=2,
        ),
    ),
    min_size=1,
    max_size=8,
)
"""Objects of few kinds, with tags and without, some of which have very many keys."""

_SHAPES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([1, "x", {}, []]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["aa", "ab", "ac", "ad", "ae", "af", "ag", "id_12345", "7", "type", "kind"]),
            st.one_of(inner, st.sampled_from(["red", "blue", "green", True])),
            max_size=7,
        ),
    ),
    max_leaves=40,
)
TREES = st.lists(st.tuples(_SHAPES, st.integers(0, 2)), min_size=1, max_size=4)
"""Results that are wide and deep enough to be cut."""

ODD = st.one_of(
    st.floats(),
    st.text(alphabet=st.characters(categories=["Cs", "Cc", "Lu"]), max_size=3),
    st.binary(max_size=3),
    st.dictionaries(st.one_of(st.integers(), st.none(), st.text(max_size=3)), st.integers(), max_size=3),
    st.tuples(st.integers(), st.text(max_size=2)),
    st.decimals(),
    st.complex_numbers(),
)
