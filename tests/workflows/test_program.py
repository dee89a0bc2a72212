"""The program that a workflow becomes, run without a sandbox; test_running.py has the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.tooled import Played, net, task


def test_what_does_not_form_blocks_is_run_as_it_is() -> None:
    # c waits for a and b, d for b alone.
    workflow = net(
        task("s", None),
        task("a", "slow"),
        task("b"),
        task("c", join="and"),
        task("d"),
        task("z", None, join="and"),
        flows="i>s s>a s>b a>c b>c b>d c>z d>z z>o",
    )
    log = Played(workflow).log
    assert log.index("say d") < log.index("end a") < log.index("say c")


@pytest.mark.parametrize(("size", "taken"), [(5, "large"), (2, "small"), (0, "other")])
def test_a_choice_is_made_by_the_first_predicate_that_holds_or_by_default(size: int, taken: str) -> None:
    workflow = net(
        task("look", split="xor"),
        *map(task, ("small", "large", "other")),
        flows="i>look look>small look>large look>other small>o large>o other>o",
        look_small={"predicate": "size > 0", "order": 2},
        look_large={"predicate": "size > 3", "order": 1},
        look_other={"default": True},
    )
    assert Played(workflow, size=size).trace == ["look", taken]


def test_an_or_join_waits_for_those_that_were_chosen() -> None:
    workflow = net(
        task("ask", None, split="or"),
        task("a", "slow"),
        task("b"),
        task("c"),
        task("z", join="or"),
        flows="i>ask ask>a ask>b ask>c a>z b>z c>z z>o",
        ask_a={"predicate": "want.a"},
        ask_b={"predicate": "want.b"},
        ask_c={"default": True},
    )
    assert Played(workflow, want={"a": True, "b": True}).trace == ["ask", "b", "a", "z"]
    assert Played(workflow, want={"a": False, "b": False}).trace == ["ask", "c", "z"]


def test_a_loop_is_left_when_its_predicate_says_so_and_ends_at_its_limit() -> None:
    workflow = net(
        task("try", split="xor", limit=3),
        task("done"),
        flows="i>try try>try try>done done>o",
        try_try={"predicate": "try.times < most"},
        try_done={"default": True},
    )
    assert Played(workflow, most=3).trace == ["try", "try", "try", "done"]
    endless = Played(workflow, most=100)
    assert "'try'" in endless.error
    assert endless.log == ["say try"] * 3


def test_what_is_written_is_known_by_its_name_or_by_its_key() -> None:
    workflow = net(
        task("a", writes=["first"]),
        task("b", writes=["what", "times"]),
        task("c", what=[{"from": "first.what"}, {"from": "times"}, {"value": {"from": "a"}}]),
        flows="i>a a>b b>c c>o",
    )
    assert Played(workflow).results["c"]["what"] == ["a", 1, {"from": "a"}]
    unkept = net(task("a", writes=["one", "other"]), flows="i>a a>o")
    assert "'one'" in Played(unkept).error


def test_what_is_under_way_when_something_fails_is_done_to_its_end_and_nothing_more_is_begun() -> None:
    workflow = net(
        task("s", None),
        task("a", "fail"),
        task("b", "slow"),
        task("c"),
        task("z", None, join="and"),
        flows="i>s s>a s>b b>c a>z c>z z>o",
    )
    found = Played(workflow)
    assert "it does not work" in found.error
    assert sorted(found.log) == ["end b", "fail a", "slow b"]


@given(st.text(min_size=1).filter(lambda text: text.strip() == text and text not in {"i", "o"}), st.text())
def test_names_of_tasks_and_values_stay_names_and_values(name: str, value: str) -> None:
    workflow = net(task(name, what=value), flows="")
    workflow["flows"] = [{"from": "i", "to": name}, {"from": name, "to": "o"}]
    found = Played(workflow)
    assert (found.trace, found.results[name]["what"]) == ([name], value)
