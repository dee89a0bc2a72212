"""Which values count as a flow from one call of a run to a later one."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from halflap.graph.lineage import Count, Flow, Trails
from halflap.graph.lineage import follow as module


class Told:
    """Runs, call by call."""

    def __init__(self) -> None:
        self.trails = Trails()
        self.now = 0.0

    def call(self, tool: str, result: Any = None, *, run: str = "r", **arguments: Any) -> Told:
        self.trails.see(run, tool, arguments, result, began=self.now, ended=self.now + 1)
        self.now += 2
        return self

    def flows(self) -> dict[tuple[str, str, str, str], int]:
        return {tuple(flow): count.times for flow, count in self.trails.take().counts.items()}


def test_a_result_that_is_passed_on_is_a_flow() -> None:
    told = Told().call("find", {"users": [{"user_id": "ada_ro_7151"}]}, name="Ada")
    told.call("get", user_id="ada_ro_7151")
    assert told.flows() == {("find", "users[].user_id", "get", "user_id"): 1}


def test_flows_reach_nested_arguments_and_leave_map_keys() -> None:
    told = Told().call("profile", {"wallets": {"card_9907312": {"brand": "visa"}}}, n=1)
    told.call("search", [[{"train_no": "ZX4417"}], [{"train_no": "ZX4418"}]])
    told.call("book", payments=[{"id": "card_9907312"}], legs=[{"train_no": "ZX4418"}])
    assert told.flows() == {
        ("profile", "wallets.{key}", "book", "payments[].id"): 1,
        ("search", "[][].train_no", "book", "legs[].train_no"): 1,
    }


def test_an_echo_of_an_argument_is_no_flow() -> None:
    told = Told().call("get_user", {"user_id": "ada_ro_7151"}, user_id="ada_ro_7151")
    told.call("orders", user_id="ada_ro_7151")
    assert told.flows() == {}


def test_the_first_source_is_credited() -> None:
    told = Told().call("find", {"id": "ada_ro_7151"}).call("get", {"id": "ada_ro_7151"}, id="ada_ro_7151")
    told.call("orders", user="ada_ro_7151")
    assert told.flows() == {("find", "id", "get", "id"): 1, ("find", "id", "orders", "user"): 1}


def test_a_value_used_as_an_argument_before_is_no_flow() -> None:
    told = Told().call("get", {"name": "x"}, id="ada_ro_7151").call("order", {"owner": "ada_ro_7151"}, n=7)
    told.call("mail", to="ada_ro_7151")
    assert told.flows() == {}


@pytest.mark.parametrize("value", ["standing", "false", "ab12", "[redacted]", 2024, 50_000, True])
def test_a_common_value_is_no_flow(value: Any) -> None:
    told = Told().call("a", {"x": value}).call("b", y=value)
    assert told.flows() == {}


@pytest.mark.parametrize("value", ["2031-02-11", "2031-02-11T06:00:00Z", 1_716_163_200])
def test_a_time_alone_is_no_flow(value: Any) -> None:
    told = Told().call("a", {"x": value}).call("b", y=value)
    assert told.flows() == {}


def test_a_time_next_to_a_distinctive_value_is() -> None:
    told = (
        Told().call("search", [{"number": "ZX4417", "date": "2031-02-11"}]).call("other", {"d": "2031-02-11"})
    )
    told.call("book", number="ZX4417", day="2031-02-11")
    assert told.flows() == {
        ("search", "[].number", "book", "number"): 1,
        ("search", "[].date", "book", "day"): 1,
    }


def test_a_long_number_is_not_the_same_as_its_text() -> None:
    told = Told().call("a", {"id": 7_734_921}).call("b", id=7_734_921).call("c", id="7734921")
    assert told.flows() == {("a", "id", "b", "id"): 1}


def test_runs_are_separate() -> None:
    told = Told().call("a", {"id": "QW7T2B"}, run="one").call("b", run="two", id="QW7T2B")
    assert told.flows() == {}


def test_a_call_that_began_before_the_result_is_no_target() -> None:
    trails = Trails()
    trails.see("r", "a", {}, {"id": "QW7T2B"}, began=0, ended=5)
    trails.see("r", "b", {"id": "QW7T2B"}, {}, began=1, ended=6)
    trails.see("r", "c", {"id": "QW7T2B"}, {}, began=7, ended=8)
    assert trails.take().counts == {}


def test_two_sources_are_both_credited_and_many_are_not() -> None:
    told = Told().call("a", {"id": "QW7T2B"}).call("b", [{"id": "QW7T2B"}]).call("x", id="QW7T2B")
    assert told.flows() == {("a", "id", "x", "id"): 1, ("b", "[].id", "x", "id"): 1}
    told = Told()
    for tool in "abcd":
        told.call(tool, {"id": "QW7T2B"})
    assert told.call("x", id="QW7T2B").flows() == {}


def test_a_flow_counts_once_per_call_and_per_run() -> None:
    told = Told()
    for run in ("one", "two"):
        told.call("list", {"ids": ["QW7T2B", "PL0K93"]}, run=run)
        told.call("get", run=run, ids=["QW7T2B", "PL0K93"]).call("get", run=run, ids=["PL0K93"])
    counts = told.trails.take().counts
    assert counts == {Flow("list", "ids[]", "get", "ids[]"): Count(4, 2)}


def test_a_run_counts_once_across_two_reads() -> None:
    told = Told().call("list", {"ids": ["QW7T2B"]}).call("get", id="QW7T2B")
    assert next(iter(told.trails.take().counts.values())) == Count(1, 1)
    told.call("get", id="QW7T2B")
    assert next(iter(told.trails.take().counts.values())) == Count(1, 0)


def test_no_value_is_kept_in_clear() -> None:
    secret = f"ada_ro_{3}668"
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


def test_keys_that_are_data_are_not_in_paths() -> None:
    told = Told().call("a", {"by": {"ada@example.com": {"id": "QW7T2B"}}})
    told.call("b", people={"tom@example.com": {"id": "QW7T2B"}})
    assert told.flows() == {("a", "by.{}.id", "b", "people.{}.id"): 1}


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_huge_values_are_read_within_bounds() -> None:
    deep: Any = "QW7T2B"
    for _ in range(5_000):
        deep = [deep]
    told = Told().call("a", deep).call("b", {f"key{'x' * (n % 50)}{n}": "PL0K93" for n in range(20_000)})
    told.call("c", id="QW7T2B", many=["x" * 30_000] * 5_000)
    assert told.flows() == {}
    assert len(told.trails._runs["r"].values) < 2_000
