"""The JSON Schema, the examples and the page say what the code does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given

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
