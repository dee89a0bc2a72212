"""What counts as a flow from one call of a run to another, and what does not."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import Any

import pytest

from halflap.graph import trail as module
from halflap.graph.lineage import Count, Flow
from halflap.graph.trail import Trails

SALT = b"s" * 32


class Told:
    """Runs told call by call, one after the other."""

    def __init__(self) -> None:
        self.trails = Trails(SALT)
        self.now = 0.0

    def call(self, tool: str, result: Any = None, *, run: str = "r", **arguments: Any) -> Told:
        self.trails.see(run, tool, arguments, result, began=self.now, ended=self.now + 1)
        self.now += 2
        return self

    def flows(self) -> dict[tuple[str, str, str, str], int]:
        return {tuple(flow): count.times for flow, count in self.trails.take().counts.items()}


def test_a_value_of_a_result_that_is_an_argument_later_is_a_flow() -> None:
    told = Told().call("find", {"users": [{"user_id": "mia_li_3668"}]}, name="Mia")
    told.call("get", user_id="mia_li_3668")
    assert told.flows() == {("find", "users[].user_id", "get", "user_id"): 1}


def test_the_way_into_nested_arguments_and_out_of_keys_of_maps_is_told() -> None:
    told = Told().call("profile", {"payment_methods": {"card_4421486": {"brand": "visa"}}}, n=1)
    told.call("search", [[{"flight_number": "HAT069"}], [{"flight_number": "HAT083"}]])
    told.call("book", payments=[{"id": "card_4421486"}], flights=[{"flight_number": "HAT083"}])
    assert told.flows() == {
        ("profile", "payment_methods.{key}", "book", "payments[].id"): 1,
        ("search", "[][].flight_number", "book", "flights[].flight_number"): 1,
    }


def test_a_whole_result_that_is_a_text_can_be_an_argument() -> None:
    told = Told().call("upload", "file-8c1f", name="x").call("share", file="file-8c1f")
    assert told.flows() == {("upload", "$", "share", "file"): 1}


def test_an_echo_of_what_the_caller_had_is_nobodys() -> None:
    told = Told().call("get_user", {"user_id": "mia_li_3668"}, user_id="mia_li_3668")
    told.call("orders", user_id="mia_li_3668")
    assert told.flows() == {}


def test_of_what_is_passed_on_and_echoed_the_first_source_is_credited() -> None:
    told = Told().call("find", {"id": "mia_li_3668"}).call("get", {"id": "mia_li_3668"}, id="mia_li_3668")
    told.call("orders", user="mia_li_3668")
    assert told.flows() == {("find", "id", "get", "id"): 1, ("find", "id", "orders", "user"): 1}


def test_what_was_an_argument_before_is_not_credited_to_who_returns_it_later() -> None:
    told = Told().call("get", {"name": "x"}, id="mia_li_3668").call("order", {"owner": "mia_li_3668"}, n=7)
    told.call("mail", to="mia_li_3668")
    assert told.flows() == {}


@pytest.mark.parametrize(
    "value",
    [
        "economy",
        "basic_economy",
        "OPEN",
        "Confirmed",
        "false",
        "ab12",
        "[redacted]",
        "card ****1234",
        "     ",
        "-------",
        2024,
        50_000,
        12.5,
        True,
    ],
)
def test_a_value_that_many_things_have_is_no_flow(value: Any) -> None:
    told = Told().call("a", {"x": value}).call("b", y=value)
    assert told.flows() == {}


@pytest.mark.parametrize(
    "value", ["2024-05-20", "06:00:00", "2024-05-20T06:00:00Z", 1_716_163_200, "P10DT2H"]
)
def test_a_time_alone_is_no_flow(value: Any) -> None:
    told = Told().call("a", {"x": value}).call("b", y=value)
    assert told.flows() == {}


def test_a_time_beside_what_tells_is_one() -> None:
    told = (
        Told().call("search", [{"number": "HAT069", "date": "2024-05-20"}]).call("other", {"d": "2024-05-20"})
    )
    told.call("book", number="HAT069", day="2024-05-20")
    assert told.flows() == {
        ("search", "[].number", "book", "number"): 1,
        ("search", "[].date", "book", "day"): 1,
    }


def test_a_long_number_is_a_flow_and_not_the_same_as_its_text() -> None:
    told = Told().call("a", {"id": 7_734_921}).call("b", id=7_734_921).call("c", id="7734921")
    assert told.flows() == {("a", "id", "b", "id"): 1}


def test_runs_know_nothing_of_each_other() -> None:
    told = Told().call("a", {"id": "NO6JO3"}, run="one").call("b", run="two", id="NO6JO3")
    assert told.flows() == {}


def test_a_failed_call_told_nothing_but_took_something() -> None:
    told = Told().call("a", {"id": "NO6JO3"}).call("b", None, id="NO6JO3")
    assert told.flows() == {("a", "id", "b", "id"): 1}


def test_a_call_that_began_before_the_result_came_did_not_get_it_from_there() -> None:
    trails = Trails(SALT)
    trails.see("r", "a", {}, {"id": "NO6JO3"}, began=0, ended=5)
    trails.see("r", "b", {"id": "NO6JO3"}, {}, began=1, ended=6)
    trails.see("r", "c", {"id": "NO6JO3"}, {}, began=7, ended=8)
    assert trails.take().counts == {}


def test_two_that_return_it_are_credited_both_and_many_none() -> None:
    told = Told().call("a", {"id": "NO6JO3"}).call("b", [{"id": "NO6JO3"}]).call("x", id="NO6JO3")
    assert told.flows() == {("a", "id", "x", "id"): 1, ("b", "[].id", "x", "id"): 1}
    told = Told()
    for tool in "abcd":
        told.call(tool, {"id": "NO6JO3"})
    assert told.call("x", id="NO6JO3").flows() == {}


def test_a_flow_counts_once_for_each_call_and_once_for_each_run() -> None:
    told = Told()
    for run in ("one", "two"):
        told.call("list", {"ids": ["NO6JO3", "AIXC49"]}, run=run)
        told.call("get", run=run, ids=["NO6JO3", "AIXC49"]).call("get", run=run, ids=["AIXC49"])
    counts = told.trails.take().counts
    assert counts == {Flow("list", "ids[]", "get", "ids[]"): Count(4, 2)}


def test_a_run_counts_once_though_what_was_counted_is_taken_in_between() -> None:
    told = Told().call("list", {"ids": ["NO6JO3"]}).call("get", id="NO6JO3")
    assert next(iter(told.trails.take().counts.values())) == Count(1, 1)
    told.call("get", id="NO6JO3")
    assert next(iter(told.trails.take().counts.values())) == Count(1, 0)


def test_a_number_that_comes_again_is_another_run_of_that_name() -> None:
    trails = Trails(SALT)
    for _ in range(2):
        trails.see("r", "a", {}, {"id": "NO6JO3"}, began=2, ended=3, order=1)
        trails.see("r", "b", {"id": "NO6JO3"}, {}, began=4, ended=5, order=2)
    assert trails.take().counts == {Flow("a", "id", "b", "id"): Count(2, 2)}


def test_no_value_is_kept_in_any_form_that_it_had() -> None:
    secret = f"mia_li_{len(SALT)}668"
    told = Told().call("find", {"users": {secret: {"id": secret}}}, name=secret + "x")
    held = [told.trails]
    seen: set[int] = set()
    texts = []
    while held:
        one = held.pop()
        if id(one) in seen or isinstance(one, type) or callable(one):
            continue
        seen.add(id(one))
        texts.append(one) if isinstance(one, str | bytes) else held.extend(gc.get_referents(one))
    assert len(told.trails._runs["r"].values) == 2
    assert not any(secret in (text if isinstance(text, str) else text.decode("latin1")) for text in texts)


def test_the_hash_of_a_number_is_not_the_number() -> None:
    told = Told().call("a", {"id": 7_734_921})
    assert 7_734_921 not in told.trails._runs["r"].values


def test_where_python_draws_no_key_the_salt_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_IS_KEYED", False)
    sealed: list[Any] = []
    for salt in (b"a" * 32, b"b" * 32):
        trails = Trails(salt)
        trails.see("r", "a", {}, {"id": "NO6JO3"}, began=0, ended=1)
        sealed += trails._runs["r"].values
        trails.see("r", "b", {"id": "NO6JO3"}, {}, began=2, ended=3)
        assert trails.take().counts == {Flow("a", "id", "b", "id"): Count(1, 1)}
    assert len(set(sealed)) == 2


def test_the_hashes_of_another_process_are_others() -> None:
    code = "from halflap.graph.trail import Trails; print(Trails()._sealed('NO6JO3'))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    said = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment).stdout
        for _ in range(2)
    ]
    assert said[0] != said[1]


def test_keys_that_are_data_are_in_no_path() -> None:
    told = Told().call("a", {"by": {"mia@example.com": {"id": "NO6JO3"}}})
    told.call("b", people={"tom@example.com": {"id": "NO6JO3"}})
    assert told.flows() == {("a", "by.{}.id", "b", "people.{}.id"): 1}


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_VALUES", 10)
    monkeypatch.setattr(module, "_MOST_RUNS", 3)
    monkeypatch.setattr(module, "_MOST_IN_ALL", 25)
    told = Told()
    for number in range(50):
        told.call("a", {"ids": [f"value-{number}-{place}" for place in range(20)]}, run=f"r{number}")
        assert len(told.trails._runs) <= 3
        held = sum(len(one.values) for one in told.trails._runs.values())
        assert held == told.trails._held <= 25
        assert max(len(one.values) for one in told.trails._runs.values()) <= 10
    told.call("b", run="r49", one="value-49-0", two="value-49-19")
    assert told.flows() == {("a", "ids[]", "b", "two"): 1}


def test_values_of_any_depth_and_width_are_looked_at_in_bounds() -> None:
    deep: Any = "NO6JO3"
    for _ in range(5_000):
        deep = [deep]
    told = Told().call("a", deep).call("b", {f"key{'x' * (n % 50)}{n}": "AIXC49" for n in range(20_000)})
    told.call("c", id="NO6JO3", many=["x" * 30_000] * 5_000)
    assert told.flows() == {}
    assert len(told.trails._runs["r"].values) < 2_000
