"""Every program runs, and every argument comes from where the plan says."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.made import graph_of, ports
from graph.playing import found_at, play
from halflap.graph.emit import program
from halflap.graph.paths import path_text
from halflap.graph.plan import plan
from halflap.graph.workflow import Target
from support import examples

if TYPE_CHECKING:
    from halflap.graph.edges import Graph
    from halflap.graph.paths import Path
    from halflap.graph.ports import Ports

PLACES = ("id", "one.id", "items[].id", "items[].name", "items[].sub[].id", "items[].sub[].name", "by.{key}", "per.{}.id",
          "per.{}.name", "maybe?", "items[].maybe?", "bare[]", "seldom.id?")  # fmt: skip
ROOTS = ("[].id", "[].name", "[].sub[].id", "[].maybe?")
SLOTS = ("x", "y", "in.x", "in.deep.y", "xs[]", "rows[].x rows[].y", "rows[].in.x rows[].in.y", "z")


@st.composite
def worlds(draw: st.DrawFn) -> Graph:
    """Make tools of any structure, each supplied by those before it from any place, one or many."""
    count = draw(st.integers(2, 5))
    tools: list[Ports] = []
    links: list[tuple[str, Path, str, Path]] = []
    for at in range(count):
        shape = draw(st.sampled_from([PLACES, ROOTS]))
        gives = draw(st.lists(st.sampled_from(shape), min_size=1, max_size=4, unique=True))
        takes = draw(st.lists(st.sampled_from(SLOTS), max_size=3, unique=True)) if at else []
        if len({one.split("[")[0].split(".")[0] for one in takes}) < len(takes):
            takes = takes[:1]
        one = ports(f"tool{at}", " ".join(takes), " ".join(gives))
        slots = [slot for slot in one.slots if slot.type.kind != "object"] if takes else []
        for slot in slots:
            source = draw(st.sampled_from(tools))
            place = draw(st.sampled_from(source.places))
            links.append((source.tool, place.path, one.tool, slot.path))
            # Items of one array are more likely to fill another.
            for other, inner in itertools.product(slots, source.places):
                if draw(st.booleans()):
                    links.append((source.tool, inner.path, one.tool, other.path))
        tools.append(one)
    return graph_of(*tools, links=links)


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds(), st.integers(0, 1))
def test_every_call_gets_exactly_what_the_plan_says(graph: Graph, others: int) -> None:
    names = list(graph.tools)
    want = [Target("tool", names[-1])]
    want += [Target("field", "name")] * others
    for one in plan(graph, want=want, have={}).suggestions:
        if one.missing or len(one.wanted) < len(want):
            compile(program(one), "program.py", "exec", flags=0x2000)
            continue
        text = program(one)
        try:
            played = play(text, graph.tools.values())
        except ValueError as error:
            # A value that is only there at times, and is needed once, may not be there.
            assert "returned no" in str(error)  # noqa: PT017
            continue
        for task in one.tasks:
            looped = any(given.fan_out for given in task.arguments)
            calls = [arguments for name, arguments in played.calls if name == task.ports.tool]
            assert task.axes or len(calls) == 1
            assert not looped or task.axes
            for arguments in calls:
                assert arguments.keys() == task.ports.required
                for given_ in task.arguments:
                    if given_.origin == "step":
                        said = f"{one.order[given_.step].ports.tool}|{path_text(given_.source)}|"
                        found = found_at(arguments, given_.slot)
                        assert all(str(value).startswith(said) for value in found), (given_, found)
        assert played.value is not None
