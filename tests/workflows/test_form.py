"""Workflows as JSON: written, read back, and every mistake reported with its path."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.core.errors import WorkflowError
from halflap.workflows.examples import example_nets
from halflap.workflows.model.form import (
    decoded,
    net_schema,
    parse_json,
    read_net,
    read_specification,
    write_net,
    write_specification,
)
from halflap.workflows.model.net import Kept, Specification
from workflows.nets import described_nets, nets

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

VALIDATOR = jsonschema_rs.Draft202012Validator(net_schema())


def small(**changes: Any) -> dict[str, Any]:
    """Return i → a → b → o, changed."""
    return {
        "id": "small",
        "input": "i",
        "output": "o",
        "tasks": [{"id": "a"}, {"id": "b"}],
        "flows": tied(("i", "a"), ("a", "b"), ("b", "o")),
    } | changes


def tied(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"from": one, "to": two} for one, two in pairs]


def choice(*flows: dict[str, Any], split: str = "xor") -> dict[str, Any]:
    """Return a, which splits into b and c, which both lead to the output."""
    listed = tied(("i", "a"), ("a", "b"), ("a", "c"), ("b", "o"), ("c", "o"))
    for flow, more in zip(listed[1:3], flows, strict=False):
        flow.update(more)
    return small(tasks=[{"id": "a", "split": split}, {"id": "b"}, {"id": "c"}], flows=listed)


def problems(value: Any) -> set[str]:
    """Return the paths of what is wrong."""
    with pytest.raises(WorkflowError) as caught:
        read_net(value)
    return {one.path for one in caught.value.problems}


@given(described_nets())
def test_a_net_reads_back_as_it_was_written_and_fits_the_schema(net: Net) -> None:
    through = json.loads(json.dumps(write_net(net)))
    assert read_net(through) == net
    assert write_net(read_net(through)) == through
    assert VALIDATOR.is_valid(through)


@given(nets())
def test_a_specification_reads_back(net: Net) -> None:
    other = replace(net, id="other", kept=(Kept("timer", "", "t0"),))
    found = Specification("two", "other", {net.id: net, "other": other}, ("a note",), "<xml/>")
    assert read_specification(json.loads(json.dumps(write_specification(found)))) == found


def test_reads_that_are_left_out_are_unknown_and_an_empty_list_is_nothing() -> None:
    net = read_net(small(tasks=[{"id": "a", "reads": []}, {"id": "b"}]))
    assert (net.tasks["a"].reads, net.tasks["b"].reads) == (frozenset(), None)


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ([], [""]),
        (small(tasks={}), ["tasks"]),
        (small(input=None), ["input"]),
        (small(input="a"), ["input"]),
        (small(tasks=[{"id": "a"}, {"id": "a"}]), ["tasks[1].id"]),
        (small(tasks=[{"id": "a"}, {"name": "b"}]), ["tasks[1].name", "tasks[1].id"]),
        (small(conditions=[{"id": "b"}]), ["conditions[0].id"]),
        (small(flows=tied(("i", "a"), ("a", "b"), ("b", "o"), ("a", "b"))), ["flows[3]"]),
        (small(flows=tied(("i", "a"), ("a", "b"), ("b", "o"), ("b", "i"))), ["flows[3].to"]),
        (small(flows=tied(("i", "a"), ("a", "b"), ("b", "o"), ("o", "a"))), ["flows[3].from"]),
        (small(tasks=[{"id": "a", "join": "AND"}, {"id": "b"}]), ["tasks[0].join"]),
        (small(tasks=[{"id": "a", "cost": True}, {"id": "b"}]), ["tasks[0].cost"]),
        (small(tasks=[{"id": "a", "cost": float("nan")}, {"id": "b"}]), [""]),
        (small(tasks=[{"id": "a", "duration": -1}, {"id": "b", "duratoin": 3}]), ["tasks[0].duration", "tasks[1].duratoin"]),
        (small(tasks=[{"id": "a", "reads": "x"}, {"id": "b", "label": ""}]), ["tasks[0].reads", "tasks[1].label"]),
        (small(rules=[{"kind": "exclusion", "tasks": ["a"]}]), ["rules[0].tasks[1]"]),
        (small(rules=[{"kind": "exclusion", "tasks": ["a", "a"]}]), ["rules[0]"]),
        (small(rules=[{"kind": "required", "task": "z"}]), ["rules[0]"]),
        (small(rules=[{"kind": "precedence", "first": "a"}]), ["rules[0].then"]),
        (choice({"predicate": "x ="}), ["flows[1].predicate"]),
        (choice({"predicate": "x > 1"}, split="and"), ["flows[1].predicate"]),
        (choice({"default": True}, {"default": True}), ["flows[2].default"]),
        (choice({"probability": 0.5}, {"probability": 0.6}), ["tasks[0]"]),
        (choice({"probability": 0.5}), ["flows[2].probability"]),
        (small(tasks=[{"id": "a", "duration": -1}, {"id": "b", "limit": 0}], colour="red"),
         ["tasks[0].duration", "tasks[1].limit", "colour"]),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_path(value: Any, paths: list[str]) -> None:
    assert problems(value) == set(paths)


def test_problems_in_a_specification_have_the_path_of_the_net() -> None:
    broken = small(flows=tied(("i", "a"), ("a", "c"), ("b", "o")))
    with pytest.raises(WorkflowError) as caught:
        read_specification({"id": "s", "root": "smal", "nets": [broken]})
    assert {one.path for one in caught.value.problems} == {"nets[0].flows[1].to", "root"}


# The schema and files -------------------------------------------------------------------------------------

ODD = [None, True, 0, -1, 2.5, 10**30, "", " ", "x", "and", "a" * 501, [], {}, ["a", "a"], [1], {"a": 1}]


def everywhere(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in a value: what it is in, and its key or number there."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in [(value, key), *everywhere(value[key])]]


@given(st.sampled_from(sorted(example_nets())), st.data())
def test_what_the_reader_accepts_fits_the_schema(name: str, data: st.DataObject) -> None:
    value = example_nets()[name]
    for _ in range(data.draw(st.integers(1, 2))):
        holder, key = data.draw(st.sampled_from(everywhere(value)))
        holder[key] = data.draw(st.sampled_from(ODD))
    try:
        read_net(value)
    except WorkflowError:
        return
    assert VALIDATOR.is_valid(value)


@pytest.mark.parametrize("name", sorted(example_nets()))
def test_an_example_is_valid(name: str) -> None:
    value = example_nets()[name]
    assert VALIDATOR.is_valid(value)
    read_net(value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_file_is_read_with_a_byte_order_mark_or_without(encoding: str) -> None:
    text = json.dumps(small(tasks=[{"id": "a", "label": "Größe"}, {"id": "b"}]), ensure_ascii=False)
    found = read_specification(parse_json(decoded(text.encode(encoding))))
    assert found.net.tasks["a"].label == "Größe"


def test_another_encoding_is_refused() -> None:
    with pytest.raises(WorkflowError):
        decoded(b'{"\xff": 1}')
