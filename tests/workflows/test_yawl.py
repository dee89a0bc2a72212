"""YAWL specifications: control flow is read and written, and everything else is kept."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.form import decoded, read_specification, write_specification
from halflap.workflows.model.net import Specification
from halflap.workflows.run.check import check_runnable
from halflap.workflows.yawl import read_yawl, write_yawl
from support import shared_data
from workflows.nets import described_nets
from workflows.timed import optimize

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


@given(described_nets())
def test_everything_in_a_net_is_written_and_read_back(net: Net) -> None:
    net = replace(net, kept=())
    first = read_yawl(write_yawl(Specification.of(net)))
    for field in ("id", "input", "output", "tasks", "conditions", "rules"):
        assert getattr(first.net, field) == getattr(net, field), field
    assert set(first.net.flows) == set(net.flows)
    assert read_yawl(write_yawl(first)).nets == first.nets


def test_real_specifications_are_read_written_and_analysed() -> None:
    found = 0
    for path in sorted(shared_data("yawl").iterdir()):
        if path.suffix not in {".yawl", ".xml"}:
            continue
        found += 1
        first = read_yawl(decoded(path.read_bytes()))
        again = read_yawl(write_yawl(first))
        if not any("Not valid" in note for net in first.nets.values() for note in net.notes):
            assert read_specification(json.loads(json.dumps(write_specification(first)))) == first
        assert {name: (net.tasks, net.flows, net.kept) for name, net in again.nets.items()} == {
            name: (net.tasks, net.flows, net.kept) for name, net in first.nets.items()
        }
        if first.yawl is not None:
            # Nothing that the model does not know is lost.
            before, after = (Counter(re.findall(r"<(\w+)", one)) for one in (first.yawl, write_yawl(first)))
            assert not before - after
        for net in first.nets.values():
            try:
                judged = soundness(Study(net))
            except WorkflowError:
                # Or-gates that form no block.
                assert any("or" in (task.join, task.split) for task in net.tasks.values())
            else:
                assert judged.sound == (not judged.failures)
    assert found


def test_unknown_elements_are_written_back_in_place() -> None:
    text = small(
        "<notes><of>others</of></notes>",
        task='<name>A</name><timer><netparam>t</netparam></timer><resourcing own="1"/><decomposesTo id="D"/>',
        flow="<documentation>why</documentation>",
    ).replace(
        "</specification>", '<decomposition id="D"><yawlService id="x"/></decomposition></specification>'
    )
    first = read_yawl(text)
    assert [(one.at, one.name) for one in first.net.kept] == [("a", "timer")]
    assert any("Timers" in note for note in first.net.notes)
    tasks = {**first.net.tasks, "a": replace(first.net.tasks["a"], duration=5, label="B")}
    written = write_yawl(replace(first, nets={"N": replace(first.net, tasks=tasks)}))
    kept = (
        "<netparam>t</netparam>",
        '<resourcing own="1"',
        "<of>others</of>",
        "<documentation>why</documentation>",
        "yawlService",
    )
    assert all(one in written for one in kept)
    assert read_yawl(written).net.tasks == tasks


def test_xpath_is_kept_as_text_and_the_branch_is_free() -> None:
    choice = '<predicate ordering="1">/N/x = 1</predicate></flowsInto><flowsInto><nextElementRef id="b"/><isDefaultFlow/>'
    text = small(
        '<task id="b"><name>B</name><flowsInto><nextElementRef id="o"/></flowsInto></task>', flow=choice
    )
    net = read_yawl(text).net
    assert [(one.name, one.text, one.at) for one in net.kept] == [("predicate", "/N/x = 1", "a -> o")]
    assert all(flow.predicate is None for flow in net.flows)
    assert '<predicate ordering="1">/N/x = 1</predicate>' in write_yawl(read_yawl(text))
    with pytest.raises(WorkflowError) as refused:
        check_runnable(net, {})
    assert any("'a'" in one.message and "XPath" in one.message for one in refused.value.problems)


def test_an_optimised_branch_keeps_its_xpath() -> None:
    """The condition between the choice and the task is removed, so the branch leads elsewhere."""
    text = small(
        '<condition id="c"><flowsInto><nextElementRef id="b"/></flowsInto></condition>'
        '<task id="b"><name>B</name><flowsInto><nextElementRef id="o"/></flowsInto></task>',
        flow='<isDefaultFlow/></flowsInto><flowsInto><nextElementRef id="c"/><predicate>/N/x = 1</predicate>',
    )
    found = read_yawl(text)
    better = optimize(found.net, "behavioral", engine="beam").net
    assert "c" not in better.conditions
    assert [(one.text, one.at) for one in better.kept] == [("/N/x = 1", "a -> b")]
    assert "<predicate>/N/x = 1</predicate>" in write_yawl(replace(found, nets={"N": better}))


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
        ("<a>\n<b></a>", ["line 2"]),
        ("<a>" * 200 + "</a>" * 200, ["line 1"]),
        ("<specificationSet/>", ["line 1"]),
        ('<specificationSet><specification uri="s"/></specificationSet>', ["line 1"]),
        (small().replace('id="o"/><join', 'id="zz"/><join').replace('<join code="xor"', '<join code="nor"'), ["line 6, net 'N', task 'a'"]),
        (small('<task id="a"><flowsInto><nextElementRef id="yyy"/></flowsInto></task>'), ["line 8, net 'N'"] * 2),
    ],
)  # fmt: skip
def test_an_invalid_specification_is_refused_with_the_line(text: str, paths: list[str]) -> None:
    assert problems(text) == paths


@given(st.one_of(st.text(), st.text("<>/=\"'&;!?-[] abspecificationSet")))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(WorkflowError):
        read_yawl(text)
