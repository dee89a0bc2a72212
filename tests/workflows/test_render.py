from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from halflap.errors import WorkflowError
from halflap.workflows.net import Condition, Flow, Kept, Task
from halflap.workflows.render import net_mermaid, net_svg
from workflows.nets import net, told_nets

if TYPE_CHECKING:
    from halflap.workflows.net import Net

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"]; click n1 "javascript:alert(1)" </text><script>alert(1)</script> --> x\n%%{init}%%\u202e&amp;'


def choice() -> Net:
    made = net(
        {"a": "xor/xor", "b": "xor/and", "c": "~xor/and", "d": "xor/and"},
        "i>a a>b a>c b>d c>p p>d d>o",
        conditions="p",
    )
    flows = [
        replace(flow, predicate="x > 3", probability=0.25) if flow.target == "b" else flow
        for flow in made.flows
    ]
    flows = [replace(flow, default=True, probability=0.75) if flow.target == "c" else flow for flow in flows]
    tasks = {**made.tasks, "b": replace(made.tasks["b"], duration=2.5, cost=3, resource="clerk")}
    conditions = {**made.conditions, "p": Condition("p", "ready")}
    return replace(made, flows=tuple(flows), tasks=tasks, conditions=conditions)


def texts(svg: str) -> list[str]:
    return [one.text or "" for one in ET.fromstring(svg).iter(f"{SVG}tspan")]


def test_mermaid_shows_tasks_gates_conditions_predicates_and_probabilities() -> None:
    lines = [one.strip() for one in net_mermaid(choice()).split("\n")]
    assert lines[0] == "flowchart LR"
    assert 'n2["a<br/>#215; split"]' in lines
    assert 'n3["b<br/>2.5 s #183; cost 3 #183; clerk"]' in lines
    assert 'n5["d<br/>#215; join"]' in lines
    assert 'n6(("ready"))' in lines
    assert 'n2 -->|"x #62; 3<br/>0.25"| n3' in lines
    assert 'n2 -->|"0.75 #183; default"| n4' in lines
    assert "class n4 silent" in lines


def test_svg_shows_the_same() -> None:
    svg = net_svg(choice())
    shown = texts(svg)
    for piece in ("a", "b", "2.5 s · cost 3 · clerk", "ready", "x > 3", "0.25", "0.75 · default", "τ"):
        assert piece in shown
    root = ET.fromstring(svg)
    assert len(list(root.iter(f"{SVG}circle"))) == 3
    assert sorted(one.text or "" for one in root.iter(f"{SVG}title")) == ["xor", "xor"]
    assert len([one for one in root.iter(f"{SVG}path") if one.get("marker-end")]) == 7


def test_what_comes_first_stands_left() -> None:
    root = ET.fromstring(net_svg(net("a b c", "i>a a>b b>c c>o")))
    at = [float(one.get("x", "0")) for one in root.iter(f"{SVG}tspan")]
    assert at == sorted(at)


def test_a_predicate_that_was_kept_as_text_is_shown() -> None:
    made = replace(
        choice(),
        kept=(Kept("a -> c", "predicate", '<predicate ordering="0">empty(/n/x) &lt; 1</predicate>'),),
    )
    assert "empty(/n/x) < 1" in texts(net_svg(made))


def test_hostile_names_stay_text() -> None:
    made = net("a", "i>a a>o")
    made = replace(
        made,
        tasks={"a": Task("a", HOSTILE, resource=HOSTILE)},
        conditions={**made.conditions, "i": Condition("i", HOSTILE)},
        flows=(*made.flows, Flow("a", "a", predicate="x == 1")),
    )
    root = ET.fromstring(net_svg(made))
    assert {one.tag for one in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "defs", "marker", "path", "rect", "circle", "text", "tspan", "title")
    }
    assert "\u202e" not in net_svg(made)
    for line in net_mermaid(made).split("\n")[1:]:
        assert re.fullmatch(r' +n\d+(\[".*"\]|\(\(".*"\)\)| -->(\|".*"\|)? n\d+)', line), line
        inner = re.sub(r"<br/>|#\d+;", "", line.partition('"')[2].rpartition('"')[0])
        assert not re.search(r'["<>;%{}\[\]\\]', inner), line


@given(told_nets())
def test_any_net_is_drawn_with_every_node_and_every_flow(made: Net) -> None:
    root = ET.fromstring(net_svg(made))
    assert len(list(root.iter(f"{SVG}circle"))) == len(made.conditions)
    assert len([one for one in root.iter(f"{SVG}path") if one.get("marker-end")]) == len(made.flows)
    arrows = [line for line in net_mermaid(made).split("\n") if " -->" in line]
    assert len(arrows) == len(made.flows)
    assert net_svg(made) == net_svg(made)


@given(told_nets())
def test_no_node_covers_another(made: Net) -> None:
    root = ET.fromstring(net_svg(made))
    boxes = [
        tuple(float(one.get(key, "0")) for key in ("x", "y", "width", "height"))
        for one in root.iter(f"{SVG}rect")
        if one.get("rx") == "4"
    ]
    boxes += [
        (float(one.get("cx", "0")) - 15, float(one.get("cy", "0")) - 15, 30, 30)
        for one in root.iter(f"{SVG}circle")
    ]
    for at, one in enumerate(boxes):
        for two in boxes[at + 1 :]:
            apart = (
                one[0] + one[2] <= two[0]
                or two[0] + two[2] <= one[0]
                or one[1] + one[3] <= two[1]
                or two[1] + two[3] <= one[1]
            )
            assert apart


def test_what_is_too_large_for_a_drawing_is_told_before_it_is_begun() -> None:
    depth = 400
    flows = [f"s{at}>j{at}" for at in range(depth)]
    flows += [f"s{at}>s{at + 1}" for at in range(depth - 1)] + [f"j{at + 1}>j{at}" for at in range(depth - 1)]
    wide = net(" ".join(f"s{at} j{at}" for at in range(depth)), " ".join(["i>s0", *flows, "j0>o"]))
    with pytest.raises(WorkflowError, match="Draw it as Mermaid"):
        net_svg(wide)
    assert net_mermaid(wide).count("-->") == len(flows) + 2
