"""YAWL specifications, the real ones among them: all that they say comes back."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.form import read_specification, write_specification
from halflap.workflows.net import Kept
from halflap.workflows.specification import subnets
from halflap.workflows.yawl import read_yawl, write_yawl
from halflap.workflows.yawl.xml import Element, Markup, read_xml
from support import ROOT
from workflows.yawl_texts import small

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from halflap.workflows.specification import Specification

DATA = ROOT.parent / "shared" / "data" / "yawl"
FILES = [
    "DeadlockingSpecification.xml",
    "ExclusiveChoiceWorkflow.yawl",
    "ParallelProcessing.xml",
    "ParallelSplitWorkflow.yawl",
    "SequenceWorkflow.yawl",
    "makeTrip2.xml",
    "orderfulfillment.yawl",
]


def real(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs the shared data: {name}")
    return path


def imported(name: str) -> Specification:
    return read_yawl(real(name).read_bytes())


def canonical(element: Element) -> Any:
    """Give an element as it counts: nodes of a net in the order of their ids, and no spaces around text."""
    children = [canonical(one) for one in element.elements]
    if element.name in {"processControlElements", "net"}:
        children.sort(key=json.dumps)
    return [element.name, sorted(element.attributes.items()), element.text, children]


def everything(element: Element) -> Iterator[Element | Markup]:
    for one in element.children:
        if isinstance(one, Element):
            yield one
            yield from everything(one)
        elif isinstance(one, Markup):
            yield one


def without_new_names(again: Element, first: Element) -> Element:
    """Take the names out that tasks have got, where they had none."""
    had = {
        one.attributes.get("id", "")
        for one in everything(first)
        if isinstance(one, Element) and one.name == "task" and any(two.name == "name" for two in one.elements)
    }

    def clean(one: Element) -> Element:
        children = tuple(clean(two) if isinstance(two, Element) else two for two in one.children)
        if one.name == "task" and one.attributes.get("id", one.attributes.get("name")) not in had:
            children = tuple(two for two in children if not (isinstance(two, Element) and two.name == "name"))
        return Element(one.name, one.attributes, children)

    return clean(again)


# The seven ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_a_real_specification_comes_back_element_by_element(name: str) -> None:
    before = read_xml(real(name).read_bytes())
    after = read_xml(write_yawl(imported(name)))
    assert canonical(without_new_names(after.root, before.root)) == canonical(before.root)
    assert after.before == before.before
    comments = [
        Counter(one for one in everything(root) if isinstance(one, Markup))
        for root in (before.root, after.root)
    ]
    assert comments[0] == comments[1]


@pytest.mark.parametrize("name", FILES)
def test_a_real_specification_that_was_written_reads_back_as_the_same(name: str) -> None:
    first = imported(name)
    assert read_yawl(write_yawl(first)) == first


@pytest.mark.parametrize("name", FILES)
def test_a_real_specification_goes_through_json_and_is_the_same(name: str) -> None:
    first = imported(name)
    through = json.loads(json.dumps(write_specification(first)))
    assert read_specification(through, structure=False) == first


def test_sub_nets_are_nets_of_their_own_and_tasks_say_which_they_stand_for() -> None:
    found = imported("orderfulfillment.yawl")
    assert (found.id, found.root, found.version, len(found.nets)) == ("orderfulfillment", "Overall", "2.1", 9)
    assert sum(len(net.tasks) for net in found.nets.values()) == 66
    assert subnets(found)["Overall", "Ordering_3"] == "Ordering"
    assert len(subnets(found)) == 8
    assert "'Ordering_3' stands for the net 'Ordering', which is not looked into." in found.net.notes


def test_predicates_are_translated_and_what_is_beyond_them_is_kept_and_named() -> None:
    found = imported("orderfulfillment.yawl")
    said = {flow.predicate for net in found.nets.values() for flow in net.flows} - {None}
    assert "PO_timedout == false and POApproval == true" in said
    assert "TransportationQuote.TotalVolume < 10000 and TransportationQuote.NumberOfPackages > 1" in said
    appointment = found.nets["Carrier_Appointment"]
    beyond = [note for note in appointment.notes if note.startswith("Kept as text, and not evaluated")]
    assert len(beyond) == 4
    assert any("the function empty() is not understood" in note for note in beyond)


def test_the_order_of_predicates_and_default_flows_are_read() -> None:
    flows = {flow.target: flow for flow in imported("orderfulfillment.yawl").net.flows}
    assert any(flow.order == 0 and flow.predicate for flow in flows.values())
    dead = imported("DeadlockingSpecification.xml").net
    taken = {
        flow.target: (flow.predicate, flow.order, flow.default)
        for flow in dead.flows
        if flow.source == "a-top"
    }
    assert taken == {"c2-top": ("false", 1, False), "c1-top": (None, None, True)}
    assert any("it is never taken" in note for note in dead.notes)


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("orderfulfillment.yawl", "cancellation sets of 'Carrier_Timeout_388'"),
        ("orderfulfillment.yawl", "timers of 'Order_Timeout_1791'"),
        ("orderfulfillment.yawl", "multiple instances of 'Log_Trackpoint_Order_Entry_4514'"),
        ("orderfulfillment.yawl", "resourcing of"),
        ("orderfulfillment.yawl", "data mappings of"),
        ("orderfulfillment.yawl", "<layout>"),
        ("orderfulfillment.yawl", "<schema>"),
        ("makeTrip2.xml", "multiple instances of 'do_itinerary_segment'"),
        ("makeTrip2.xml", "comments"),
        ("ExclusiveChoiceWorkflow.yawl", "gates of conditions of 'choice1'"),
        ("ExclusiveChoiceWorkflow.yawl", "<conditionExpressions>"),
    ],
)
def test_what_the_model_cannot_say_is_named(name: str, topic: str) -> None:
    found = imported(name)
    notes = [*found.notes, *(note for net in found.nets.values() for note in net.notes)]
    assert any(f"not part of the model: {topic}" in note for note in notes), notes


def test_a_task_that_nothing_leads_to_is_imported_and_told() -> None:
    net = imported("ParallelProcessing.xml").net
    assert len(net.tasks) == 5
    assert any("No way leads from 'start' to task 'ParallelTask2'" in note for note in net.notes)


def test_an_or_split_with_its_join_is_read() -> None:
    net = imported("makeTrip2.xml").nets["do_itinerary_segment"]
    assert net.tasks["register_itinerary_segment"].split == "or"
    assert net.tasks["prepare_payment_information"].join == "or"
    assert net.tasks["flight"].label == "Book flight"


def test_tasks_that_name_the_conditions_around_them_are_read() -> None:
    net = imported("ExclusiveChoiceWorkflow.yawl").net
    ends = [(flow.source, flow.target) for flow in net.flows]
    assert ("i", "Decision") in ends
    assert ("Decision", "choice2") in ends
    assert ("ProcessBranch2", "sync") in ends
    assert net.tasks["Decision"].split == "or"


# Changes --------------------------------------------------------------------------------------------


def test_a_predicate_that_was_changed_is_written_anew_and_one_that_was_not_as_it_was() -> None:
    first = read_yawl(small(flow="<predicate>/N/x  =  'true'</predicate>"))
    assert "<predicate>/N/x  =  'true'</predicate>" in write_yawl(first)
    flow = first.net.flows[1]
    net = replace(first.net, flows=(first.net.flows[0], replace(flow, predicate="x == false and y > 2")))
    again = write_yawl(replace(first, nets={"N": net}))
    assert "<predicate>/N/x/text() = 'false' and number(/N/y/text()) &gt; 2</predicate>" in again
    assert read_yawl(again).net.flows[1].predicate == "x == false and y > 2"


def test_a_predicate_that_was_taken_out_does_not_come_back() -> None:
    first = read_yawl(small(flow='<predicate ordering="3">/N/x = 1</predicate>'))
    assert first.net.flows[1].order == 3
    flow = replace(first.net.flows[1], predicate=None, order=None)
    net = replace(first.net, flows=(first.net.flows[0], flow))
    assert "predicate" not in write_yawl(replace(first, nets={"N": net}))


def test_extended_attributes_of_others_and_broken_ones_of_ours_are_kept() -> None:
    inside = """<extendedAttributes colour="red"><attribute key="duration" value="2.5"/>
      <attribute key="cost" value="much"/><attribute key="theirs" value="1"/><note>hi</note></extendedAttributes>"""
    first = read_yawl(small(task=f"<name>A</name>{inside}"))
    assert first.net.tasks["a"].duration == 2.5
    assert first.net.tasks["a"].cost is None
    written = write_yawl(first)
    for piece in ('colour="red"', 'value="much"', 'key="theirs"', "<note>hi</note>", 'value="2.5"'):
        assert piece in written
    assert read_yawl(written) == first


def test_elements_with_a_prefix_and_of_other_vocabularies_come_back() -> None:
    text = small(task="<name>A</name><other:thing xmlns:other='o' a='1'>x<b/>y</other:thing><!-- why -->")
    first = read_yawl(text)
    assert "<other:thing" in write_yawl(first)
    assert "<!-- why -->" in write_yawl(first)
    prefixed = (
        text.replace("<", "<y:")
        .replace("<y:/", "</y:")
        .replace("<y:!--", "<!--")
        .replace("<y:other", "<other")
    )
    prefixed = (
        prefixed.replace("</y:other", "</other").replace("xmlns=", "xmlns:y=").replace("<y:b/>", "<b/>")
    )
    second = read_yawl(prefixed)
    assert second.net.tasks == first.net.tasks
    assert "<y:nextElementRef" in write_yawl(second)
    assert read_yawl(write_yawl(second)) == second


def test_a_task_without_a_name_and_without_a_decomposition_is_silent() -> None:
    assert read_yawl(small()).net.tasks["a"].label is None
    assert read_yawl(small(task="<name>A</name>")).net.tasks["a"].label == "A"
    made = small().replace('<split code="xor"/>', '<split code="xor"/><decomposesTo id="D"/>')
    assert read_yawl(made).net.tasks["a"].label == "a"
    silent = replace(read_yawl(made).net.tasks["a"], label=None)
    found = read_yawl(made)
    net = replace(found.net, tasks={"a": silent})
    assert read_yawl(write_yawl(replace(found, nets={"N": net}))).net.tasks["a"].label is None


@pytest.mark.parametrize(
    ("space", "version"),
    [
        ("http://www.citi.qut.edu.au/yawl", "Beta 7.1"),
        ("http://www.yawlfoundation.org/yawlschema", "2.0"),
        ("http://www.yawlfoundation.org/yawlschema", "3.0"),
    ],
)
def test_other_versions_of_the_schema_are_read_and_stay_what_they_are(space: str, version: str) -> None:
    text = small(task="<name>A</name>").replace("http://www.yawlfoundation.org/yawlschema", space)
    found = read_yawl(text.replace('version="4.0"', f'version="{version}"'))
    assert (found.version, list(found.net.tasks)) == (version, ["a"])
    assert f'xmlns="{space}" version="{version}"' in write_yawl(found)


@pytest.mark.parametrize(
    "kept",
    [
        Kept("a", "timer", "<timer>"),
        Kept("a", "timer", "</kept><kept>"),
        Kept("a", "#comment", "--><evil/>"),
        Kept("a", "timer", '<!DOCTYPE a [<!ENTITY b "c">]><timer/>'),
        Kept("a", "@x='1' y", "2"),
        Kept("", "#control", "<a"),
    ],
)
def test_what_was_kept_and_then_broken_is_told_and_never_written(kept: Kept) -> None:
    found = read_yawl(small(task="<name>A</name>"))
    net = replace(found.net, kept=(*found.net.kept, kept))
    with pytest.raises(WorkflowError, match=r"^The workflow cannot be written as XML\."):
        write_yawl(replace(found, nets={"N": net}))


# What is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "line 1", "document type"),
        ('<!DOCTYPE a SYSTEM "http://example.invalid/a.dtd"><a/>', "line 1", "document type"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "line 1", "document type"),
        ("<a>&x;</a>", "line 1, column 4", "undefined entity"),
        ("<a>\n<b></a>", "line 2, column 6", "mismatched tag"),
        ("", "line 1, column 1", "no element found"),
        ("not xml", "line 1, column 1", "syntax error"),
        ("<a>" * 200 + "</a>" * 200, "line 1", "more than 100 deep"),
        ("<a/>", "line 1", "The root is <a>"),
        ("<specification/>", "line 1", "processModel"),
        ("<specificationSet/>", "line 1", "There are 0 specifications"),
        (
            "<specificationSet><specification/><specification/></specificationSet>",
            "line 1",
            "There are 2 spec",
        ),
        ('<specificationSet><specification uri="s"/></specificationSet>', "line 1", "There are 0 root nets"),
    ],
)
def test_what_is_no_specification_is_refused_with_the_line(text: str, path: str, says: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        read_yawl(text)
    assert [(one.path, says in one.message) for one in caught.value.problems] == [(path, True)]


def test_all_that_is_wrong_with_a_specification_is_told_at_once() -> None:
    text = small('<task id="a"/><condition/>').replace('ref id="o"', "")
    text = text.replace('<nextElementRef id="o"/>', '<nextElementRef id="nowhere"/>').replace(
        '"xor"/><split', '"nor"/><split'
    )
    with pytest.raises(WorkflowError) as caught:
        read_yawl(text)
    said = " ".join(one.message for one in caught.value.problems)
    assert "A task needs an id of its own, and has 'a'." in said
    assert "A condition needs an id of its own, and has ''." in said
    with pytest.raises(WorkflowError, match="leads to 'nowhere'"):
        read_yawl(small().replace('<nextElementRef id="o"/>', '<nextElementRef id="nowhere"/>'))
    with pytest.raises(WorkflowError, match="one of and, xor and or"):
        read_yawl(small().replace('<join code="xor"/>', '<join code="nor"/>'))


def refused(text: str) -> list[tuple[str, str]]:
    with pytest.raises(WorkflowError) as caught:
        read_yawl(text)
    return [(one.path, one.message) for one in caught.value.problems]


def test_an_id_that_is_there_twice_hides_nothing_else_and_each_problem_names_net_and_task() -> None:
    again = """<task id="a"><flowsInto><nextElementRef id="yyy"/></flowsInto><join/><split code="bar"/></task>
      <task id="b"><flowsInto><nextElementRef id="o"/></flowsInto><join code="xor"/><join code="xor"/></task>"""
    text = small(again).replace('<join code="xor"/><split', '<join code="foo"/><split').replace("\n", " ")
    text = text.replace('"><flowsInto><nextElementRef id="a"/>', '"><flowsInto><nextElementRef id="zzz"/>')
    assert refused(text) == [
        ("line 1, net 'N', task 'a'", "A task needs an id of its own, and has 'a'."),
        ("line 1, net 'N', inputCondition 'i'", "The flow out of 'i' leads to 'zzz', which there is not."),
        ("line 1, net 'N', task 'a'", "The join of 'a' is one of and, xor and or, and there is 'foo'."),
        ("line 1, net 'N', task 'a'", "The join of 'a' is one of and, xor and or, and it has no code."),
        ("line 1, net 'N', task 'a'", "The split of 'a' is one of and, xor and or, and there is 'bar'."),
        ("line 1, net 'N', task 'a'", "The flow out of 'a' leads to 'yyy', which there is not."),
        ("line 1, net 'N', task 'b'", "The join of 'b' is one of and, xor and or, and there are 2 of them."),
    ]


def test_a_net_without_an_output_is_told_with_what_is_wrong_in_it_and_not_what_follows() -> None:
    text = small().replace('<outputCondition id="o"/>', "").replace('<join code="xor"', '<join code="nor"')
    assert refused(text) == [
        ("line 4, net 'N'", "The net needs one inputCondition and one outputCondition."),
        ("line 7, net 'N', task 'a'", "The join of 'a' is one of and, xor and or, and there is 'nor'."),
    ]


def test_all_that_is_wrong_with_a_process_model_is_told_at_once() -> None:
    text = """<specification><processModel>
      <net name="N"><inputCondition name="i"/><outputCondition name="o"/>
        <task name="a" joins="NOR"><inputConditionRef>i</inputConditionRef><outputConditionRef name="x"/></task>
        <task name="a"><outputConditionRef name="y"/></task></net>
      <net name="N"><inputCondition name="i"/><task name="b" splits="NOR"><outputConditionRef name="o"/></task></net>
    </processModel></specification>"""
    assert refused(text) == [
        ("line 3, net 'N', task 'a'", "The joins of 'a' is one of AND, XOR and OR, and not 'NOR'."),
        ("line 4, net 'N', task 'a'", "A task needs a name of its own, and has 'a'."),
        ("line 3, net 'N', task 'a'", "'a' names 'x', which there is not."),
        ("line 4, net 'N', task 'a'", "'a' names 'y', which there is not."),
        ("line 5", "A net needs a name of its own, and has 'N'."),
        ("line 5, net 'N'", "The net needs one inputCondition and one outputCondition."),
        ("line 5, net 'N', task 'b'", "The splits of 'b' is one of AND, XOR and OR, and not 'NOR'."),
    ]


def test_a_file_that_is_too_large_is_not_read() -> None:
    with pytest.raises(WorkflowError, match="at most 10000000 are read"):
        read_yawl(b" " * 10_000_001)


def test_what_xml_has_no_character_for_is_told_when_it_is_written() -> None:
    found = read_yawl(small(task="<name>A</name>"))
    net = replace(found.net, tasks={"a": replace(found.net.tasks["a"], label="bell \x07")})
    with pytest.raises(WorkflowError, match=r"U\+0007"):
        write_yawl(replace(found, nets={"N": net}))


@given(st.one_of(st.text(), st.text("<>/=\"'&;!?-[] abspecificationSet")))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    with pytest.raises(WorkflowError):
        read_yawl(text)
