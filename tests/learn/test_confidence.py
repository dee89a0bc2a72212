"""How sure a learned shape is."""

from __future__ import annotations

import random

import pytest

from halflap.learn import confidence, digest_of, infer
from halflap.learn.drift import STABLE
from learn.calibration import Trial, airline, trials
from support import shared_data, some

TRIALS = 400
"""Each is a random prefix of 2 to 200 observations, and the result after it."""


def assert_calibrated(done: list[Trial]) -> None:
    sure = [trial for trial in done if trial.confidence >= 0.95]
    assert len(sure) >= 50
    assert sum(trial.holds for trial in sure) / len(sure) >= 0.95
    # It is a lower bound, so at every level trials hold at least as often as stated, apart from chance.
    for lower, upper in ((0.5, 0.8), (0.8, 0.9), (0.9, 1.0)):
        some = [trial for trial in done if lower <= trial.confidence < upper]
        if len(some) >= 20:
            stated = sum(trial.confidence for trial in some) / len(some)
            assert sum(trial.holds for trial in some) / len(some) >= stated - 0.05


@pytest.mark.parametrize("seed", some(range(2), every=2))
def test_confidence_holds_for_generated_tools(seed: int) -> None:
    assert_calibrated(list(trials(TRIALS // 2, {}, random.Random(seed))))


@pytest.mark.slow
def test_confidence_holds_for_real_tools() -> None:
    tools = airline(shared_data("airline_traces.jsonl"))
    assert_calibrated(list(trials(TRIALS, tools, random.Random(7))))


def test_different_arguments_with_equal_shapes_add_confidence() -> None:
    levels = [confidence(infer([{"a": 1}] * count, range(count))) for count in (2, 5, 20, 60, 200)]
    assert levels == sorted(levels)
    assert levels[0] < 0.5
    assert levels[3] >= 0.95
    assert confidence(infer([{"a": 1}] * 60, range(60))) >= STABLE


@pytest.mark.parametrize(
    "rare",
    [
        {"a": 1, "b": 2, "c": 3},
        {"a": 1},
        {"a": 1.5, "b": 2},
        {"a": None, "b": 2},
        {"a": "x", "b": 2},
        [],
    ],
    ids=["a new key", "a key missing", "a number", "null", "another type", "another kind"],
)
def test_a_rare_variation_lowers_confidence(rare: object) -> None:
    steady = [{"a": 1, "b": 2}] * 60
    sure = confidence(infer(steady, range(60)))
    assert confidence(infer([*steady, rare], range(61))) < sure - 0.01


def test_the_number_of_distinct_arguments_is_estimated() -> None:
    digests = [digest_of({"number": number}) for number in range(5_000)]
    shape = infer([1] * len(digests), digests)
    assert 4_000 < shape.sample.size() < 6_000
    assert len(shape.sample.digests) == 256
