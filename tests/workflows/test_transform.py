"""What each transformation does, and what keeps it from doing it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from halflap.workflows.model.form import read_net
from halflap.workflows.model.net import Kept
from halflap.workflows.transform.catalogue import transformed
from halflap.workflows.transform.constraints import Constraints
from workflows.nets import block_net, net, rule
from workflows.timed import line, task

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net


def only(name: str, one: Net, constraints: Constraints | None = None) -> Net:
    ((new, _),) = transformed(name, one, constraints)
    return new


def flows(one: Net) -> set[str]:
    return {f"{flow.source}>{flow.target}" for flow in one.flows}


class TestTidying:
    def test_silent_tasks_that_only_route_go_and_their_gates_with_others(self) -> None:
        new = only(
            "remove_silent",
            net({"a": "xor/and", "s": "~xor/and", "b": "xor/and", "c": "xor/and", "j": "~and/and", "d": "xor/and"},
                "i>a a>s s>b s>c b>j c>j j>d d>o"),
        )  # fmt: skip
        assert flows(new) == {"i>a", "a>b", "a>c", "b>d", "c>d", "d>o"}
        assert new.tasks["d"].join == "and"

    def test_a_silent_task_that_does_something_stays(self) -> None:
        for what in (
            {"tool": "t"},
            {"duration": 2},
            {"writes": ["x"]},
            {"resource": "bob"},
            {"reads": ["x"]},
        ):
            assert transformed("remove_silent", line({"id": "a"}, {"id": "s", "label": None, **what})) == []

    def test_a_silent_task_that_a_rule_names_stays(self) -> None:
        one = line({"id": "a"}, {"id": "s", "label": None}, rules=[{"kind": "required", "task": "s"}])
        assert transformed("remove_silent", one) == []

    def test_a_condition_at_which_somebody_is_waited_for_stays(self) -> None:
        one = net("a b c", "i>a a>p p>b p>c b>o c>o", conditions="p")
        assert transformed("remove_silent", one) == []

    def test_blocks_of_a_kind_become_one(self) -> None:
        nested = block_net(("and", [("task", "a"), ("and", [("task", "b"), ("task", "c")])]))
        flat = only("flatten", nested)
        assert max(len(listed) for listed in flat.outgoing().values()) == 3

    def test_probabilities_of_choices_within_choices_are_multiplied(self) -> None:
        one = read_net(
            {
                "id": "n", "input": "i", "output": "o",
                "tasks": [{"id": "s", "split": "xor"}, {"id": "t", "label": None, "split": "xor"}, {"id": "a"}, {"id": "b"}, {"id": "c"}],
                "flows": [
                    {"from": "i", "to": "s"},
                    {"from": "s", "to": "a", "probability": 0.5}, {"from": "s", "to": "t", "probability": 0.5},
                    {"from": "t", "to": "b", "probability": 0.2}, {"from": "t", "to": "c", "probability": 0.8},
                    {"from": "a", "to": "o"}, {"from": "b", "to": "o"}, {"from": "c", "to": "o"},
                ],
            }
        )  # fmt: skip
        flat = only("flatten", one)
        assert {flow.target: flow.probability for flow in flat.flows if flow.source == "s"} == {
            "a": 0.5,
            "b": pytest.approx(0.1),
            "c": pytest.approx(0.4),
        }


def choice(*branches: tuple[dict[str, Any], list[dict[str, Any]]]) -> Net:
    """Make a choice of branches, each with what its flow says and its tasks."""
    tasks: list[dict[str, Any]] = [{**task("s", 1), "split": "xor"}]
    listed: list[dict[str, Any]] = [{"from": "i", "to": "s"}]
    for said, inner in branches:
        names = ["s", *(one["id"] for one in inner), "z"]
        tasks += inner
        listed.append({"from": "s", "to": names[1], **said})
        listed += [{"from": one, "to": other} for one, other in pairwise(names[1:])]
    tasks.append(task("z", 1))
    listed.append({"from": "z", "to": "o"})
    return read_net({"id": "choice", "input": "i", "output": "o", "tasks": tasks, "flows": listed})


class TestMerging:
    def same(self, name: str) -> dict[str, Any]:
        return {**task(name, 2, "s", "x"), "label": "same"}

    def test_branches_that_are_the_same_become_one_and_their_probabilities_one_sum(self) -> None:
        one = choice(
            ({"probability": 0.2}, [self.same("a")]),
            ({"probability": 0.3}, [self.same("b")]),
            ({"probability": 0.5}, [task("c", 3)]),
        )
        merged = [new for new, what in transformed("merge_identical", one) if "identical" in what]
        assert {flow.target: flow.probability for flow in merged[0].flows if flow.source == "s"} == {
            "a": 0.5,
            "c": 0.5,
        }

    def test_branches_with_predicates_are_left_alone(self) -> None:
        one = choice(
            ({"predicate": "s == 1"}, [self.same("a")]),
            ({"predicate": "s > 1"}, [task("c", 3)]),
            ({"predicate": "s == 2"}, [self.same("b")]),
            ({"default": True}, [task("d", 3)]),
        )
        assert not [what for _, what in transformed("merge_identical", one) if "identical" in what]

    def test_what_all_branches_end_with_comes_after_the_choice(self) -> None:
        one = choice(({}, [task("a", 1), self.same("x")]), ({}, [task("b", 1), self.same("y")]))
        (new,) = [new for new, what in transformed("merge_identical", one) if "behind" in what]
        assert {"a>x", "b>x", "x>z"} <= flows(new)
        assert "y" not in new.tasks

    def test_what_all_begin_with_comes_first_only_if_the_choice_can_wait(self) -> None:
        def begins(predicate: str) -> list[Net]:
            one = choice(
                ({"predicate": predicate}, [self.same("x"), task("a", 1)]),
                ({"default": True}, [self.same("y"), task("b", 1)]),
            )
            return [new for new, what in transformed("merge_identical", one) if "before" in what]

        (new,) = begins("s > 1")
        assert {"s>x", "x>a", "x>b"} <= flows(new)
        # It writes what the choice is made by.
        assert begins("x > 1") == []

    def test_tasks_that_differ_or_are_fixed_are_not_merged(self) -> None:
        other = {**self.same("b"), "duration": 9}
        assert transformed("merge_identical", choice(({}, [self.same("a")]), ({}, [other]))) == []
        both = choice(({}, [self.same("a")]), ({}, [self.same("b")]))
        assert transformed("merge_identical", both)
        assert transformed("merge_identical", both, Constraints(fixed=("a", "b"))) == []
        named = replace(both, rules=(rule("required", "b"),))
        assert transformed("merge_identical", named) == []


class TestRepeating:
    def twice(self, between: dict[str, Any] | None = None, **more: Any) -> Net:
        look = {"label": "look", "duration": 2, "reads": ["x"], "writes": ["y"], "idempotent": True, **more}
        middle = [] if between is None else [between]
        return line({"id": "a", **look}, *middle, {"id": "b", **look})

    def test_what_was_done_already_is_dropped(self) -> None:
        assert list(only("drop_duplicates", self.twice(task("m", 1))).tasks) == ["a", "m"]

    @pytest.mark.parametrize(
        "between",
        [task("m", 1, writes="x"), task("m", 1, writes="y"), {"id": "m"}, {"id": "m", "reads": []}],
        ids=["changes what it reads", "changes what it wrote", "not known", "writes not known"],
    )
    def test_not_if_something_may_have_changed_since(self, between: dict[str, Any]) -> None:
        assert transformed("drop_duplicates", self.twice(between)) == []

    def test_not_if_twice_is_not_the_same_as_once(self) -> None:
        assert transformed("drop_duplicates", self.twice(idempotent=None)) == []
        assert transformed("drop_duplicates", self.twice(idempotent=False)) == []

    def test_not_if_its_data_is_not_known(self) -> None:
        one = line(
            {"id": "a", "label": "l", "idempotent": True}, {"id": "b", "label": "l", "idempotent": True}
        )
        assert transformed("drop_duplicates", one) == []

    def test_not_if_the_first_is_done_in_one_way_of_a_choice_only(self) -> None:
        look = {"label": "look", "reads": ["x"], "writes": ["y"], "idempotent": True}
        one = choice(({}, [{"id": "a", **look}]), ({}, [task("c", 1)]))
        tasks = {**one.tasks, "z": replace(one.tasks["a"], id="z", join="xor")}
        assert transformed("drop_duplicates", replace(one, tasks=tasks)) == []
        every = choice(({}, [{"id": "a", **look}]), ({}, [{"id": "c", **look}]))
        tasks = {**every.tasks, "z": replace(every.tasks["a"], id="z", join="xor")}
        assert len(transformed("drop_duplicates", replace(every, tasks=tasks))) == 1

    def test_not_if_others_change_it_meanwhile(self) -> None:
        beside = block_net(("and", [("seq", [("task", "a"), ("task", "a")]), ("task", "w")]))
        look: dict[str, Any] = {"reads": frozenset("x"), "writes": frozenset("y"), "idempotent": True}

        def writing(what: str) -> Net:
            tasks = {
                name: replace(one, **look)
                if one.label == "a"
                else replace(one, reads=frozenset(), writes=frozenset(what))
                if one.label == "w"
                else one
                for name, one in beside.tasks.items()
            }
            return replace(beside, tasks=tasks)

        assert len(transformed("drop_duplicates", writing("z"))) == 1
        assert transformed("drop_duplicates", writing("x")) == []

    def test_not_if_it_is_named_by_a_rule(self) -> None:
        named = replace(self.twice(), rules=(rule("required", "b"),))
        assert transformed("drop_duplicates", named) == []


def filtered(work: dict[str, Any], after: list[dict[str, Any]], *, predicate: str = "check.ok") -> Net:
    """Make work, then a check, then what needs the work or nothing, then what comes after."""
    tasks = [
        work,
        {**task("check", 1), "split": "xor"},
        task("use", 5, "work"),
        {**task("end", 1, "", "end"), "join": "xor"},
        *after,
    ]
    names = ["end", *(one["id"] for one in after), "o"]
    return read_net(
        {
            "id": "filtered", "input": "i", "output": "o", "tasks": tasks,
            "flows": [
                {"from": "i", "to": work["id"]}, {"from": work["id"], "to": "check"},
                {"from": "check", "to": "use", "predicate": predicate, "probability": 0.1},
                {"from": "check", "to": "end", "default": True, "probability": 0.9},
                {"from": "use", "to": "end"},
                *({"from": one, "to": other} for one, other in pairwise(names)),
            ],
        }
    )  # fmt: skip


class TestFiltering:
    def test_work_that_only_one_way_needs_is_done_there(self) -> None:
        new = only("filter_first", filtered(task("work", 20), []))
        assert flows(new) == {"i>check", "check>work", "work>use", "use>end", "check>end", "end>o"}
        said = {
            flow.target: (flow.predicate, flow.probability) for flow in new.flows if flow.source == "check"
        }
        assert said == {"work": ("check.ok", 0.1), "end": (None, 0.9)}

    def test_not_if_the_choice_is_made_by_it(self) -> None:
        assert transformed("filter_first", filtered(task("work", 20), [], predicate="work > 1")) == []

    def test_not_if_somebody_else_needs_it_or_may(self) -> None:
        assert transformed("filter_first", filtered(task("work", 20), [task("later", 1, "work")])) == []
        assert transformed("filter_first", filtered(task("work", 20), [{"id": "later"}])) == []

    def test_not_if_nobody_reads_what_it_does(self) -> None:
        assert transformed("filter_first", filtered(task("work", 20, writes="mail"), [])) == []
        assert transformed("filter_first", filtered(task("work", 20, writes="work mail"), [])) == []

    def test_not_if_it_has_to_be_done_or_stay(self) -> None:
        one = filtered(task("work", 20), [])
        assert transformed("filter_first", replace(one, rules=(rule("required", "work"),))) == []
        assert transformed("filter_first", one, Constraints(fixed=("work",))) == []
        assert transformed("filter_first", one, Constraints(keep_order=True)) == []


class TestArranging:
    def test_a_choice_moves_with_who_decides_it(self) -> None:
        one = filtered(task("work", 20, writes="else"), [])
        one = replace(one, tasks={**one.tasks, "use": replace(one.tasks["use"], reads=frozenset())})
        whole = max((new for new, _ in transformed("parallelise", one)), key=lambda new: len(new.flows))
        assert {"check>use"} <= flows(whole)

    def test_nothing_is_put_beside_what_is_not_known(self) -> None:
        assert transformed("parallelise", line(task("a", 5), {"id": "b", "duration": 5}, task("c", 5))) == []

    def test_not_beside_each_other_if_the_same_has_to_do_both(self) -> None:
        both = line(task("a", 5, resource="bob"), task("b", 5, resource="bob"))
        assert transformed("parallelise", both) == []

    def test_a_task_with_a_timer_stays_where_it_is(self) -> None:
        one = replace(line(task("a", 5), task("b", 5)), kept=(Kept("timer", "<timer/>", "a"),))
        assert transformed("parallelise", one) == []

    def test_a_workflow_with_cancellation_is_not_touched(self) -> None:
        one = line(task("a", 5), task("b", 5))
        assert transformed("parallelise", one)
        assert transformed("parallelise", replace(one, kept=(Kept("removesTokens", "b", "a"),))) == []
