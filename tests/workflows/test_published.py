"""The JSON Schema, the examples and the page say what the code does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.checking import remarks
from halflap.workflows.fields import CONDITION, FLOW, KEPT, NET, TASK
from halflap.workflows.form import read_net, write_net
from halflap.workflows.net import RULE_KINDS
from halflap.workflows.published import example_nets, net_schema
from halflap.workflows.specification import Specification
from halflap.workflows.yawl import read_yawl, write_yawl
from support import ROOT
from workflows.nets import told_nets

if TYPE_CHECKING:
    from halflap.workflows.net import Net

SCHEMA = net_schema()
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)
PAGE = (ROOT / "docs" / "nets.md").read_text(encoding="utf-8")


@given(told_nets())
def test_what_is_written_fits_the_schema(net: Net) -> None:
    assert VALIDATOR.is_valid(write_net(net))


def test_the_schema_has_the_same_keys_as_the_reader() -> None:
    assert set(SCHEMA["properties"]) == NET
    assert set(SCHEMA["$defs"]["task"]["properties"]) == TASK
    assert set(SCHEMA["$defs"]["flow"]["properties"]) == FLOW
    assert set(SCHEMA["properties"]["conditions"]["items"]["properties"]) == CONDITION
    assert set(SCHEMA["properties"]["kept"]["items"]["properties"]) == KEPT
    kinds = [one["properties"]["kind"] for one in SCHEMA["$defs"]["rule"]["oneOf"]]
    assert {kind for one in kinds for kind in one.get("enum", [one.get("const")])} == set(RULE_KINDS)


@pytest.mark.parametrize(
    ("where", "key", "value"),
    [
        ("tasks", "duration", -1),
        ("tasks", "join", "nor"),
        ("tasks", "reads", "x"),
        ("tasks", "limit", 0),
        ("tasks", "each", "orders"),
        ("tasks", "each", {"from": 1}),
        ("tasks", "label", ""),
        ("tasks", "id", " "),
        ("tasks", "wrong", 1),
        ("flows", "probability", 2),
        ("flows", "default", "yes"),
        ("flows", "order", 1.5),
        ("flows", "wrong", 1),
        ("rules", "kind", "never"),
        ("rules", "wrong", 1),
    ],
)
def test_what_the_schema_refuses_the_reader_refuses_too(where: str, key: str, value: Any) -> None:
    net = example_nets()["order"]
    net[where][0][key] = value
    assert not VALIDATOR.is_valid(net)
    with pytest.raises(WorkflowError) as caught:
        read_net(net)
    assert any(one.path.startswith(f"{where}[0]") for one in caught.value.problems)


ODD = [
    None,
    True,
    0,
    1,
    -1,
    2.5,
    3.0,
    10**30,
    "",
    " ",
    "\ufeff",
    "\x85",
    "\x1f",
    "x",
    "and",
    "x > 1",
    "receive",
    "a" * 501,
]
ODD_VALUES = st.sampled_from([*ODD, [], {}, ["a"], ["a", "a"], [1], [""], ["\ufeff"], {"a": 1}])
KEYS = st.sampled_from(sorted(NET | TASK | FLOW | KEPT | {"kind", "first", "then", "task", "wrong"}))


def everywhere(value: Any) -> list[tuple[Any, Any]]:
    """Give every place in a value: what it is in, and its key or number there."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    for one in waiting:
        inner = (
            list(one.items())
            if isinstance(one, dict)
            else list(enumerate(one))
            if isinstance(one, list)
            else []
        )
        found += [(one, key) for key, _ in inner]
        waiting += [each for _, each in inner]
    return found


@given(st.sampled_from(sorted(example_nets())), st.data())
def test_what_the_reader_takes_the_schema_takes_too(name: str, data: st.DataObject) -> None:
    value = example_nets()[name]
    for _ in range(data.draw(st.integers(1, 2))):
        holder, key = data.draw(st.sampled_from(everywhere(value)))
        if isinstance(holder, dict) and data.draw(st.booleans()):
            key = data.draw(KEYS)
        holder[key] = data.draw(ODD_VALUES)
    try:
        read_net(value)
    except WorkflowError:
        return
    assert VALIDATOR.is_valid(value)


@pytest.mark.parametrize("blank", ["", " ", "\ufeff", "\x85", "\u2028", "\x1f"])
@pytest.mark.parametrize(("where", "key"), [("tasks", "label"), ("tasks", "reads"), ("flows", "predicate")])
def test_schema_and_reader_agree_on_what_is_blank(blank: str, where: str, key: str) -> None:
    net = example_nets()["order"]
    net[where][5][key] = [blank] if key == "reads" else blank
    assert not VALIDATOR.is_valid(net)
    with pytest.raises(WorkflowError):
        read_net(net)


@pytest.mark.parametrize("name", sorted(example_nets()))
def test_an_example_is_valid_and_is_written_as_it_is(name: str) -> None:
    value = example_nets()[name]
    assert VALIDATOR.is_valid(value)
    net = read_net(value)
    assert remarks(net) == ()
    assert read_net(write_net(net)) == net
    assert read_yawl(write_yawl(Specification(net.id, net.id, {net.id: net}))).net.tasks == net.tasks


def test_the_page_shows_an_example_as_it_is_in_the_package() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert json.loads(blocks[0]) == example_nets()["order"]


def test_the_page_has_every_field_in_a_table() -> None:
    named = set(re.findall(r"^\| `(\S+)` \|", PAGE, re.MULTILINE))
    assert (NET | TASK | FLOW | CONDITION | KEPT) - {"$schema"} <= named
    assert all(f"`{kind}`" in PAGE for kind in RULE_KINDS)


def test_the_extended_attributes_of_the_page_are_read() -> None:
    block = re.search(r"```xml\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    text = (
        '<specificationSet><specification uri="s"><decomposition id="N"><processControlElements>'
        '<inputCondition id="i"><flowsInto><nextElementRef id="ship"/></flowsInto></inputCondition>'
        f'{block[1]}<outputCondition id="end"/>'
        "</processControlElements></decomposition></specification></specificationSet>"
    )
    net = read_yawl(text).net
    ship = net.tasks["ship"]
    assert (ship.label, ship.duration, ship.cost, ship.resource) == ("Ship it", 60, 12.5, "warehouse")
    assert ship.reads == frozenset({"order", "stock"})
    assert net.flows[1].probability == 1
    assert net.notes == ()
