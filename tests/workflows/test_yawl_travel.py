"""What YAWL has no element for travels in extended attributes, and comes back; what only looks like it is named."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.form import read_net, read_specification, write_net, write_specification
from halflap.workflows.net import Kept
from halflap.workflows.specification import Specification
from halflap.workflows.yawl import read_yawl, write_yawl
from workflows.nets import told_nets
from workflows.yawl_texts import small

if TYPE_CHECKING:
    from halflap.workflows.net import Net


def specification(net: Net, dialect: Any) -> Specification:
    return Specification(net.id, net.id, {net.id: net}, dialect=dialect)


@given(told_nets(), st.sampled_from(["specificationSet", "processModel"]))
def test_all_that_a_net_says_travels_in_a_specification(net: Net, dialect: Any) -> None:
    first = read_yawl(write_yawl(specification(net, dialect)))
    found = first.net
    for field in ("id", "label", "input", "output", "tasks", "conditions", "flows", "rules"):
        assert getattr(found, field) == getattr(net, field), field
    assert Counter(found.kept) == Counter(net.kept)
    # All that it said, and then what follows from it and it did not say: what was kept, predicates that are constant.
    assert found.notes[: len(net.notes)] == net.notes
    assert replace(first, nets={}) == replace(specification(net, dialect), nets={})
    assert read_yawl(write_yawl(first)) == first


@given(
    told_nets(), st.sampled_from(["specificationSet", "processModel"]), st.sampled_from([None, "2.1", "4.0"])
)
def test_all_that_a_specification_says_travels(net: Net, dialect: Any, version: str | None) -> None:
    other = replace(net, id="other", label=None)
    listed = {"other": other, net.id: net}
    said = Specification(
        "own id", net.id, listed, version, dialect, (Kept("", "odd", "no XML"),), ("a note", "b")
    )
    found = read_yawl(write_yawl(said))
    assert (found.id, found.root, found.version) == (said.id, said.root, said.version)
    assert set(said.kept) <= set(found.kept)
    assert not any(one.name == "extendedAttributes" for one in found.kept)
    assert found.notes[:2] == said.notes
    assert {name: one.tasks for name, one in found.nets.items()} == {
        name: one.tasks for name, one in listed.items()
    }
    assert read_yawl(write_yawl(found)) == found


BROKEN = """<extendedAttributes><attribute key="duration" value="-5"/><attribute key="cost" value="NaN"/>
  <attribute key="reads" value="[1]"/><attribute key="resource" value="plain"/><attribute key="limit" value="3"/>
  <attribute key="limit" value="4"/><attribute key="arguments" value='{"a": 1, "a": 2}'/></extendedAttributes>"""


def test_extended_attributes_that_look_like_ours_and_are_not_are_named_with_what_was_expected() -> None:
    first = read_yawl(small(task=f"<name>A</name>{BROKEN}"))
    assert first.net.tasks["a"].duration is None
    assert first.net.tasks["a"].limit == 3
    assert list(first.net.notes) == [
        f"Kept, and not read: the extended attribute {key!r} of 'a', {value!r}. {why}"
        for key, value, why in [
            ("duration", "-5", "Expected a number from 0 to 1e+15, and there is -5."),
            ("cost", "NaN", "It is no JSON; a text, say, stands in quotes."),
            ("reads", "[1]", "reads[0]: Expected a text, and there is the number 1."),
            ("resource", "plain", "It is no JSON; a text, say, stands in quotes."),
            ("limit", "4", "There is another before it, which counts."),
            (
                "arguments",
                '{"a": 1, "a": 2}',
                "arguments.a: It is there 2 times, and only one can count. Take the others out.",
            ),
        ]
    ]
    through = read_specification(json.loads(json.dumps(write_specification(first))))
    assert through == first


def test_no_extended_attribute_is_written_twice() -> None:
    first = read_yawl(small(task=f"<name>A</name>{BROKEN}"))
    assert write_yawl(first).count('key="duration" value="-5"') == 1
    assert write_yawl(first).count('key="limit"') == 1
    task = replace(first.net.tasks["a"], duration=5.0)
    written = write_yawl(replace(first, nets={"N": replace(first.net, tasks={"a": task})}))
    assert written.count('key="duration"') == 1
    assert read_yawl(written).net.tasks["a"].duration == 5


def test_rules_that_cannot_be_read_are_named_and_come_back() -> None:
    rules = """<extendedAttributes><attribute key="rules" value='[{"kind": "required", "task": "zz"}]'/></extendedAttributes>"""
    text = small(task="<name>A</name>").replace("</decomposition>", f"{rules}</decomposition>")
    first = read_yawl(text)
    assert first.net.rules == ()
    assert "the extended attribute 'rules' of the net 'N'" in first.net.notes[0]
    assert "rules[0].task: There is no task 'zz'." in first.net.notes[0]
    assert "zz" in write_yawl(first)
    assert read_yawl(write_yawl(first)) == first


def test_a_predicate_over_another_net_is_kept_as_text_with_the_reason() -> None:
    found = read_yawl(small(flow="<predicate>/Other/x = 1</predicate>"))
    assert found.net.flows[1].predicate is None
    assert "/Other/x begins with 'Other', which is neither the net, 'N', nor 'data'" in found.net.notes[0]
    assert "<predicate>/Other/x = 1</predicate>" in write_yawl(found)


def test_flows_that_are_looked_at_in_their_order_keep_it() -> None:
    pairs = [("i", "a"), ("c", "o"), ("a", "c"), ("a", "b"), ("b", "o")]
    net = read_net(
        {
            "id": "N",
            "input": "i",
            "output": "o",
            "tasks": [{"id": "a", "split": "xor"}, {"id": "b"}, {"id": "c"}],
            "flows": [{"from": one, "to": two} for one, two in pairs],
        }
    )
    for dialect in ("specificationSet", "processModel"):
        found = read_yawl(write_yawl(specification(net, dialect))).net
        assert found == net


def test_the_root_is_the_one_that_the_specification_says() -> None:
    text = small(task="<name>A</name>")
    first = read_yawl(text)
    both = {"N": first.net, "M": replace(first.net, id="M")}
    again = read_yawl(write_yawl(replace(first, nets=both, root="M")))
    assert (again.root, set(again.nets)) == ("M", {"N", "M"})


def test_extended_attributes_of_a_specification_that_say_what_its_elements_say_are_somebody_elses() -> None:
    others = """<extendedAttributes><attribute key="version" value='"x"'/><attribute key="root" value='"y"'/></extendedAttributes>"""
    first = read_yawl(small(task="<name>A</name>").replace("<metaData/>", f"<metaData/>{others}"))
    assert (first.version, first.root) == ("4.0", "N")
    assert "Kept, and not part of the model: extended attributes of others." in first.notes
    assert 'key="root"' in write_yawl(first)
    assert read_yawl(write_yawl(first)) == first


@pytest.mark.parametrize("dialect", ["specificationSet", "processModel"])
@pytest.mark.parametrize(
    "kept",
    [
        Kept("a", "timer", "<foo/>"),
        Kept("a", "timer", "<timer/><timer/>"),
        Kept("a", "timer", "<!-- no timer -->"),
        Kept("a", "timer", "<x:timer/>"),
        Kept("", "processControlElements/foo", "<bar/>"),
    ],
)
def test_what_was_kept_by_another_name_than_it_has_comes_back_as_it_was(kept: Kept, dialect: Any) -> None:
    net = read_yawl(small(task="<name>A</name>")).net
    value = write_net(replace(net, kept=(kept,), notes=()))
    assert read_yawl(write_yawl(specification(read_net(value), dialect))).net.kept == (kept,)


@pytest.mark.parametrize("dialect", ["specificationSet", "processModel"])
def test_bad_values_of_a_specification_are_named_with_what_was_expected(dialect: Any) -> None:
    inside = """<extendedAttributes><attribute key="notes" value="3"/><attribute key="kept" value="[5]"/></extendedAttributes>"""
    net = read_yawl(small(task="<name>A</name>")).net
    text = write_yawl(specification(replace(net, kept=()), dialect))
    first = read_yawl(text.replace("</specification>", f"{inside}</specification>"))
    of = "the extended attribute {} of the specification, {}."
    assert list(first.notes) == [
        f"Kept, and not read: {of.format(key, value)} {why}"
        for key, value, why in [
            ("'notes'", "'3'", "Expected a list, and there is the number 3."),
            ("'kept'", "'[5]'", "kept[0]: Expected an object, and there is the number 5."),
        ]
    ]
    assert read_yawl(write_yawl(first)) == first


def test_an_id_that_could_be_a_flow_is_refused_where_it_could() -> None:
    pairs = [("i", "a"), ("a", "b"), ("b", "a -> b"), ("a -> b", "o")]
    net = {
        "id": "N",
        "input": "i",
        "output": "o",
        "tasks": [{"id": "a"}, {"id": "b"}, {"id": "a -> b"}],
        "flows": [{"from": one, "to": two} for one, two in pairs],
    }
    with pytest.raises(WorkflowError) as caught:
        read_specification(net, structure=False)
    says = "'a' to 'b' goes by the name 'a -> b', and so does a task or condition. Take an id without ' -> '."
    assert [(one.path, one.message) for one in caught.value.problems] == [("flows[1]", says)]
    again = '<task id="i -> a"><flowsInto><nextElementRef id="o"/></flowsInto></task>'
    with pytest.raises(WorkflowError, match=r"line 3, net 'N': 'i' to 'a' goes by the name 'i -> a'"):
        read_yawl(small(again))
    tasks = [{"id": "a"}, {"id": "a -> b"}, {"id": "b -> c"}, {"id": "c"}]
    pairs = [("i", "a"), ("a", "b -> c"), ("b -> c", "a -> b"), ("a -> b", "c"), ("c", "o")]
    flows = [{"from": one, "to": two} for one, two in pairs]
    with pytest.raises(WorkflowError, match=r"and so does the flow from 'a' to 'b -> c'"):
        read_net({**net, "tasks": tasks, "flows": flows})
