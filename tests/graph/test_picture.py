"""Pictures: what they show, and that nothing covers anything."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from graph.made import Made, edge, link, ports
from halflap.graph.layout import lay_out
from halflap.graph.picture import edges_dot, edges_mermaid, workflow_dot, workflow_mermaid
from halflap.graph.plan import plan
from halflap.graph.svg import edges_svg, workflow_svg
from halflap.graph.want import target_of
from support import examples

if TYPE_CHECKING:
    from halflap.graph.workflow import Workflow

ORDERS = ports("list_orders", "customer_id cursor?", "orders[].order_id next_cursor?")
ORDER = ports("get_order", "order_id text", "sku")
STOCK = ports("stock", "sku", "available", server="store")
GRAPH = Made.of(ORDERS, ORDER, STOCK, edges=[edge(ORDERS, ORDERS, link("next_cursor", "cursor"), pages=True)])


def workflow() -> Workflow:
    return plan(GRAPH, want=[target_of(GRAPH, "available")], have={"customer_id": "c"}).suggestions[0]


def test_a_workflow_in_mermaid_shows_what_is_at_hand_the_steps_and_what_is_wanted() -> None:
    lines = [one.strip() for one in workflow_mermaid(workflow()).split("\n")]
    assert lines[0] == "flowchart LR"
    assert 's1["list_orders<br/>shop #183; page by page"]' in lines
    assert 's2["get_order<br/>shop #183; for each"]' in lines
    assert 'v1(["customer_id"])' in lines
    assert 'v2(["text#63;"])' in lines
    assert 'w1{{"available"}}' in lines
    assert 's1 -->|"orders#91;#93;.order_id #8594; order_id"| s2' in lines


def test_what_is_missing_is_dashed_and_what_goes_to_another_server_is_thick() -> None:
    mermaid, dot = workflow_mermaid(workflow()), workflow_dot(workflow())
    assert re.search(r"v2 -\.->", mermaid)
    assert re.search(r"s2 ==>", mermaid)
    assert re.search(r"v2 -> s2 \[.*style=dashed\]", dot)
    assert re.search(r"s2 -> s3 \[.*style=bold\]", dot)


def test_each_server_has_a_colour_of_its_own() -> None:
    dot = workflow_dot(workflow())
    colours = dict(re.findall(r'(s\d) \[.*fillcolor="(#\w+)"', dot))
    assert colours["s1"] == colours["s2"] != colours["s3"]


def test_edges_show_their_mappings_and_what_is_optional_is_dashed() -> None:
    edges = [replace(GRAPH.edges[0], coverage="optional"), *GRAPH.edges[1:]]
    mermaid, dot = edges_mermaid(edges, GRAPH.tools), edges_dot(edges, GRAPH.tools)
    assert 't2 -.->|"next_cursor #8594; cursor"| t2' in mermaid
    assert '-> t1 [label="orders[].order_id → order_id"]' in dot
    svg = ET.fromstring(edges_svg(edges, GRAPH.tools))
    dashed = [one for one in svg.iter("{http://www.w3.org/2000/svg}path") if one.get("stroke-dasharray")]
    assert len(dashed) == 1


def test_many_mappings_are_counted_instead_of_shown() -> None:
    source, target = ports("source", "", " ".join("abcdef")), ports("target", " ".join("abcdef"))
    assert "… 3 more" in edges_dot(Made.of(source, target).edges, {source.tool: source, target.tool: target})


def test_no_edges_are_an_empty_picture() -> None:
    ET.fromstring(edges_svg([], {}))
    assert edges_mermaid([], {}) == "flowchart LR"


def test_an_svg_shows_every_step_and_every_mapping() -> None:
    text = "".join(ET.fromstring(workflow_svg(workflow())).itertext())
    for one in (
        "list_orders",
        "get_order",
        "stock",
        "available",
        "text?",
        "orders[].order_id → order_id",
        "store",
    ):
        assert one in text


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.tuples(st.floats(20, 300), st.floats(20, 80)), min_size=1, max_size=9),
    st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 8), st.tuples(st.floats(0, 200), st.floats(6, 60))),
        max_size=20,
    ),
)
def test_nothing_covers_anything(
    sizes: list[tuple[float, float]], arrows: list[tuple[int, int, tuple[float, float]]]
) -> None:
    boxes = {f"b{at}": size for at, size in enumerate(sizes)}
    count = len(boxes)
    laid = lay_out(boxes, [(f"b{one % count}", f"b{two % count}", size) for one, two, size in arrows])

    spots = [*laid.boxes.values(), *(one for one in laid.labels if one is not None)]
    for one, two in itertools.combinations(spots, 2):
        beside = one.x + one.width <= two.x + 1e-6 or two.x + two.width <= one.x + 1e-6
        above = one.y + one.height <= two.y + 1e-6 or two.y + two.height <= one.y + 1e-6
        assert beside or above
    assert all(one.x >= 0 and one.y >= 0 for one in spots)
    for (source, target, size), way, label in zip(arrows, laid.ways, laid.labels, strict=True):
        if source % count == target % count:
            assert not way
            continue
        assert (way[0], way[-1]) == (laid.boxes[f"b{source % count}"], laid.boxes[f"b{target % count}"])
        assert label is not None
        assert label.width >= size[0]
        assert label.height == size[1]
        # It goes one way, past no box that it does not belong to.
        steps = [two.x - one.x for one, two in itertools.pairwise(way[1:-1])]
        assert all(step > 0 for step in steps) or all(step < 0 for step in steps)
