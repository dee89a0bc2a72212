"""Suggested workflows as nets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import graph_of, ports
from halflap.core.errors import WorkflowError
from halflap.graph.plan import plan, target_of
from halflap.workflows.analysis.compare import compare
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.form import read_net, write_net
from halflap.workflows.run.check import check_runnable
from halflap.workflows.run.suggested import suggested_net

if TYPE_CHECKING:
    from halflap.graph.edges import Graph
    from halflap.workflows.model.net import Net

PERSON = ports("get_person", "person_id", "address.city firm_id", latency=250.0)
FIRM = ports("get_firm", "firm_id", "sector")
WEATHER = ports("weather", "city", "rain", server="sky")
NOTE = ports("add_remark", "rain sector text", "remark_id")
OFFICE = graph_of(PERSON, FIRM, WEATHER, NOTE)
FIND = ports("find_customers", "email", "customers[].customer_id")
ORDERS = ports("list_orders", "customer_id cursor?", "orders[].order_id next_cursor?")
SHOP = graph_of(FIND, ORDERS)


def suggested(graph: Graph, want: str, **have: Any) -> Net:
    found = plan(graph, want=[target_of(graph, want)], have=have)
    return suggested_net(found.suggestions[0])


def test_steps_are_tasks_that_read_what_they_take_and_write_what_they_return() -> None:
    net = suggested(OFFICE, "add_remark", person_id="p1", text="hello")
    by_label = {task.label: task for task in net.tasks.values()}
    person, note = by_label["get_person"], by_label["add_remark"]
    assert (person.reads, person.writes, person.duration) == (
        frozenset({"person_id"}),
        frozenset({person.id}),
        0.25,
    )
    others = {by_label["weather"].id, by_label["get_firm"].id}
    assert (note.reads, note.join, note.duration) == (frozenset({*others, "text"}), "and", None)
    assert by_label["weather"].arguments == {"city": {"from": f"{person.id}.address.city"}}
    assert person.arguments == {"person_id": "p1"}


def test_it_is_sound_reads_back_as_the_same_and_can_be_run() -> None:
    net = suggested(OFFICE, "add_remark", person_id="p1", text="hello")
    assert read_net(write_net(net)) == net
    assert soundness(Study(net)).sound
    check_runnable(net, {})
    assert compare(net, net, "strict").validation_passed


def test_what_is_known_to_exist_or_missing_has_to_be_given() -> None:
    net = suggested(OFFICE, "weather", person_id=None)
    with pytest.raises(WorkflowError, match="--arg person_id="):
        check_runnable(net, {})
    check_runnable(net, {"person_id": "p1"})


def test_what_a_net_has_no_word_for_is_named_and_not_run() -> None:
    net = suggested(SHOP, "list_orders", email="a@b")
    assert [net.tasks[one.at].label for one in net.kept] == ["list_orders", "list_orders"]
    assert len(net.notes) == 2
    with pytest.raises(WorkflowError, match="--program"):
        check_runnable(net, {})
