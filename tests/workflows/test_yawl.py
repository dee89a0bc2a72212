"""YAWL specifications: what they mean comes in and goes out, and what the model cannot say is kept."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.form import read_specification, write_specification
from halflap.workflows.model.net import Kept, Specification, subnets
from halflap.workflows.yawl import read_yawl, write_yawl
from support import shared_data
from workflows.nets import told_nets

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net


def small(inside: str = "", *, task: str = "<name>A</name>", flow: str = "") -> str:
    return f"""<specificationSet xmlns="http://www.yawlfoundation.org/yawlschema" version="4.0">
  <specification uri="s"><metaData/>
    <decomposition id="N" isRootNet="true" xmlns:xsi="x" xsi:type="NetFactsType">
      <processControlElements>
        <inputCondition id="i"><flowsInto><nextElementRef id="a"/></flowsInto></inputCondition>
        <task id="a">{task}<flowsInto><nextElementRef id="o"/>{flow}</flowsInto>
          <join code="xor"/><split code="xor"/></task>
        <outputCondition id="o"/>{inside}
      </processControlElements>
    </decomposition>
  </specification>
</specificationSet>"""


def problems(text: str) -> list[str]:
    with pytest.raises(WorkflowError) as caught:
        read_yawl(text)
    return [one.path for one in caught.value.problems]


@given(told_nets())
def test_all_that_a_net_says_travels_in_a_specification(net: Net) -> None:
    first = read_yawl(write_yawl(Specification(net.id, net.id, {net.id: net})))
    found = first.net
    for field in ("id", "label", "input", "output", "tasks", "conditions", "flows", "rules"):
        assert getattr(found, field) == getattr(net, field), field
    assert Counter(found.kept) == Counter(net.kept)
    assert read_yawl(write_yawl(first)) == first


@given(told_nets())
def test_all_nets_of_a_specification_travel(net: Net) -> None:
    listed = {"other": replace(net, id="other", label=None), net.id: net}
    found = read_yawl(write_yawl(Specification("own id", net.id, listed, "4.0", notes=("a note",))))
    assert (found.id, found.root, found.version, found.notes[:1]) == ("own id", net.id, "4.0", ("a note",))
    assert {name: one.tasks for name, one in found.nets.items()} == {
        name: one.tasks for name, one in listed.items()
    }


def test_specifications_of_others_are_read_written_and_judged() -> None:
    found = 0
    for path in sorted(shared_data("yawl").iterdir()):
        if path.suffix not in {".yawl", ".xml"}:
            continue
        found += 1
        first = read_yawl(path.read_bytes())
        again = read_yawl(write_yawl(first))
        through = read_specification(json.loads(json.dumps(write_specification(first))), structure=False)
        for other in (again, through):
            assert {name: (net.tasks, net.flows) for name, net in other.nets.items()} == {
                name: (net.tasks, net.flows) for name, net in first.nets.items()
            }
            assert subnets(other) == subnets(first)
        for net in first.nets.values():
            try:
                judged = soundness(Study(net))
            except WorkflowError:
                # Or-gates that form no block.
                assert any("or" in (task.join, task.split) for task in net.tasks.values())
            else:
                assert judged.sound == (not judged.failures)
    assert found


def test_what_the_model_cannot_say_is_kept_named_and_written_again() -> None:
    text = small(task="<name>A</name><timer><netparam>t</netparam></timer>")
    first = read_yawl(text)
    assert ("a", "timer") in [(one.at, one.name) for one in first.net.kept]
    assert any("timer" in note for note in first.net.notes)
    assert "<netparam>t</netparam>" in write_yawl(first)
    assert read_yawl(write_yawl(first)) == first


@pytest.mark.parametrize(
    "kept",
    [
        Kept("a", "timer", "<timer>"),
        Kept("a", "timer", "</kept><kept>"),
        Kept("a", "#comment", "--><evil/>"),
        Kept("a", "timer", '<!DOCTYPE a [<!ENTITY b "c">]><timer/>'),
    ],
)
def test_what_was_kept_and_then_broken_is_never_written(kept: Kept) -> None:
    found = read_yawl(small())
    net = replace(found.net, kept=(*found.net.kept, kept))
    with pytest.raises(WorkflowError):
        write_yawl(replace(found, nets={"N": net}))


def test_a_task_without_a_name_and_without_a_decomposition_is_silent() -> None:
    assert read_yawl(small(task="")).net.tasks["a"].label is None
    assert read_yawl(small()).net.tasks["a"].label == "A"
    made = small(task="").replace('<split code="xor"/>', '<split code="xor"/><decomposesTo id="D"/>')
    assert read_yawl(made).net.tasks["a"].label == "a"


def test_the_order_and_the_default_of_flows_are_read() -> None:
    text = small(
        '<task id="b"><flowsInto><nextElementRef id="o"/></flowsInto><join code="xor"/><split code="and"/></task>',
        flow='<predicate ordering="3">/N/x = 1</predicate></flowsInto>'
        '<flowsInto><nextElementRef id="b"/><isDefaultFlow/>',
    )
    flows = {flow.target: flow for flow in read_yawl(text).net.flows if flow.source == "a"}
    assert (flows["o"].order, flows["o"].default) == (3, False)
    assert (flows["b"].order, flows["b"].default) == (None, True)


def test_the_older_form_is_read() -> None:
    text = """<specification><processModel>
      <net name="N"><inputCondition name="i"/><outputCondition name="o"/><condition name="c"/>
        <task name="a" joins="AND" splits="OR"><inputConditionRef name="i"/><outputConditionRef name="c"/></task>
        <task name="b"><inputConditionRef name="c"/><outputConditionRef name="o"/></task></net>
    </processModel></specification>"""
    net = read_yawl(text).net
    assert (net.tasks["a"].join, net.tasks["a"].split) == ("and", "or")
    assert {(flow.source, flow.target) for flow in net.flows} == {
        ("i", "a"),
        ("a", "c"),
        ("c", "b"),
        ("b", "o"),
    }


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', ["line 1"]),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', ["line 1"]),
        ("<a>\n<b></a>", ["line 2, column 6"]),
        ("<a>" * 200 + "</a>" * 200, ["line 1"]),
        ("<specificationSet/>", ["line 1"]),
        ('<specificationSet><specification uri="s"/></specificationSet>', ["line 1"]),
        (small().replace('id="o"/><join', 'id="zz"/><join').replace('<join code="xor"', '<join code="nor"'), ["line 7, net 'N', task 'a'"]),
        (small('<task id="a"><flowsInto><nextElementRef id="yyy"/></flowsInto></task>'), ["line 8, net 'N', task 'a'"] * 2),
    ],
)  # fmt: skip
def test_what_is_no_specification_is_refused_with_its_place(text: str, paths: list[str]) -> None:
    assert problems(text) == paths


def test_a_file_that_is_too_large_or_in_another_encoding_is_not_read() -> None:
    for data in (b" " * 10_000_001, b'<?xml version="1.0" encoding="utf-7"?><a/>'):
        with pytest.raises(WorkflowError):
            read_yawl(data)
    assert (
        read_yawl(f'<?xml version="1.0" encoding="latin-1"?>{small(task="<name>ß</name>")}'.encode("latin-1"))
        .net.tasks["a"]
        .label
        == "ß"
    )


@given(st.one_of(st.text(), st.text("<>/=\"'&;!?-[] abspecificationSet")))
def test_any_text_is_refused_in_words(text: str) -> None:
    with pytest.raises(WorkflowError):
        read_yawl(text)
