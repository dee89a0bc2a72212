from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, mappings, pair, tool
from halflap.graph.edges import Graph, explain

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Seen:
    """A lineage, as far as the graph asks."""

    counts: dict[tuple[str, str, str, str], tuple[int, int]] = field(default_factory=dict)

    def between(self, source: str, target: str) -> Sequence[tuple[str, str, int]]:
        return [
            (at, to, times)
            for (a, at, b, to), (times, _) in self.counts.items()
            if (a, b) == (source, target)
        ]

    @property
    def pairs(self) -> set[tuple[str, str]]:
        return {(a, b) for a, _, b, _ in self.counts}


ORDERS = tool("s", "order_history", "customer_id! limit:integer")


@pytest.mark.parametrize(
    ("gives", "mapping"),
    [
        ({"customers": [{"customer_id": str}]}, "customers[].customer_id"),
        ({"customer": {"id": str}}, "customer.id"),
        ({"customerId": str}, "customerId"),
        ([{"customer_id": str}], "[].customer_id"),
        ({"customers": [str]}, "customers[]"),
        ({"success": bool, "data": {"customer": {"id": str}}}, "data.customer.id"),
    ],
)
def test_an_id_is_found_wherever_it_is_in_a_result(gives: Any, mapping: str) -> None:
    edge = pair(tool("s", "overview", "", gives), ORDERS)
    assert mappings(edge) == {(mapping, "customer_id")}
    assert edge is not None
    assert edge.coverage == "strict"


def test_many_values_go_into_one_array_parameter() -> None:
    edge = pair(
        tool("s", "find", "", {"orders": [{"order_id": str}]}),
        tool("s", "close_orders", "order_ids:string[]!"),
    )
    assert mappings(edge) == {("orders[].order_id", "order_ids[]")}
    assert edge is not None
    assert not edge.links[0].is_fan_out


def test_items_go_into_nested_arguments() -> None:
    book = tool("s", "book", {"legs!": [{"train_no": str, "seat?": str}]})
    edge = pair(tool("s", "search_trains", "", [{"train_no": str, "price": int}]), book)
    assert ("[].train_no", "legs[].train_no") in mappings(edge)
    assert edge is not None
    assert edge.coverage == "strict"


class TestCoverage:
    A = tool("s", "get_train", "", {"train_no": str, "gate_code": str})

    def test_strict_when_all_required_parameters_are_supplied(self) -> None:
        edge = pair(self.A, tool("s", "check", "train_no! gate_code! note"))
        assert edge is not None
        assert edge.coverage == "strict"

    def test_partial_when_some_are(self) -> None:
        edge = pair(self.A, tool("s", "check", "train_no! seat!"))
        assert edge is not None
        assert edge.coverage == "partial"

    def test_optional_when_none_are(self) -> None:
        edge = pair(self.A, tool("s", "check", "train_no seat!"))
        assert edge is not None
        assert edge.coverage == "optional"

    def test_a_default_makes_a_parameter_optional(self) -> None:
        takes = {"train_no!": str, "seat!": {"type": "string", "default": "any"}}
        edge = pair(self.A, tool("s", "check", takes))
        assert edge is not None
        assert edge.coverage == "strict"

    def test_every_required_field_of_an_object_parameter_counts(self) -> None:
        takes = {"leg!": {"train_no": str, "meal": str}}
        edge = pair(self.A, tool("s", "check", takes))
        assert edge is not None
        assert edge.coverage == "partial"


class TestPagination:
    @pytest.mark.parametrize(
        ("gives", "takes"),
        [
            ({"items": [str], "next_cursor": str}, "cursor"),
            ({"items": [str], "nextPageToken": str}, "pageToken"),
            ({"items": [str], "next_page": int}, "page:integer"),
            ({"items": [str], "next_offset": int}, "offset:integer"),
        ],
    )
    def test_a_cursor_leads_to_the_next_page_of_the_same_tool(self, gives: Any, takes: str) -> None:
        made = tool("s", "list_things", takes, gives)
        edge = Graph([made]).edge(made.tool, made.tool)
        assert edge is not None
        assert edge.is_pagination
        assert edge.source == edge.target

    def test_a_cursor_never_leads_to_another_tool(self) -> None:
        assert (
            pair(tool("s", "list_a", "cursor", {"next_cursor": str}), tool("s", "list_b", "cursor")) is None
        )
        assert pair(tool("s", "list_a", "cursor", {"cursor": str}), tool("s", "list_b", "cursor!")) is None

    def test_a_tool_feeds_itself_by_nothing_but_a_cursor(self) -> None:
        made = tool("s", "get_customer", "customer_id!", {"customer_id": str})
        assert Graph([made]).edge(made.tool, made.tool) is None

    def test_a_cursor_of_another_type_is_none(self) -> None:
        made = tool("s", "list_things", "cursor:integer", {"items": [str], "next_cursor": str})
        assert Graph([made]).edge(made.tool, made.tool) is None


@pytest.mark.parametrize("name", ["id", "name", "limit", "type"])
@pytest.mark.parametrize("server", ["s", "t"])
def test_generic_names_make_no_edge(name: str, server: str) -> None:
    assert pair(tool("s", "alpha", "", {name: str}), tool(server, "beta", f"{name}!")) is None


def test_a_common_name_weighs_less() -> None:
    source, target = tool("a", "get", "", {"gadget": str}), tool("b", "put", "gadget!")
    few = pair(source, target)
    assert few is not None
    assert few.confidence < 0.7
    assert pair(source, target, *(tool(f"s{at}", "t", "", {"gadget": str}) for at in range(300))) is None


class TestIdentifiers:
    """Required identifiers come before display names, and the parts of a key travel together."""

    def test_a_login_comes_before_a_name(self) -> None:
        repos = tool("s", "list_repos", "", [{"name": str, "owner": {"name?": str, "login": str, "id": int}}])
        edge = pair(repos, tool("s", "list_issues", "owner! repo!"))
        assert mappings(edge) == {("[].owner.login", "owner"), ("[].name", "repo")}

    def test_the_parts_of_a_key_come_from_one_object(self) -> None:
        repo = {"name": str, "owner": {"login": str}}
        pulls = tool(
            "s", "list_pulls", "", [{"number": int, "base": {"repo": repo}, "head": {"repo?": repo}}]
        )
        edge = pair(pulls, tool("s", "get_pull", "owner! repo! pull_number:integer!"))
        assert edge is not None
        best = {link.target[0].key: link.to_json()["from"] for link in reversed(edge.links)}
        assert best == {
            "owner": "[].base.repo.owner.login",
            "repo": "[].base.repo.name",
            "pull_number": "[].number",
        }

    def test_a_bare_value_is_named_by_its_tool(self) -> None:
        edge = pair(
            tool("s", "lookup_account_id_by_phone", "phone!", str), tool("s", "get_account", "account_id!")
        )
        assert mappings(edge) == {("$", "account_id")}

    def test_the_keys_of_a_map_are_not_the_thing_that_it_is_named_after(self) -> None:
        assert pair(tool("s", "overview", "", {"customers": {...: {"plan": str}}}), ORDERS) is None

    def test_a_new_thing_is_not_named_after_another(self) -> None:
        create = tool("s", "create_project", "name! owner_id!")
        edge = pair(tool("s", "list_projects", "", [{"id": str, "name": str, "owner_id": str}]), create)
        assert mappings(edge) == {("[].owner_id", "owner_id")}

    @pytest.mark.parametrize("name", ["projects_list", "list_projects", "ListProjects", "project-search"])
    def test_nouns_may_come_first(self, name: str) -> None:
        edge = pair(tool("s", name, "", {"items": [{"id": str}]}), tool("s", "get_project", "project_id!"))
        assert mappings(edge) == {("items[].id", "project_id")}

    def test_a_description_may_name_what_a_parameter_takes(self) -> None:
        takes = {"ref!": {"type": "string", "description": "A commit SHA or a branch name."}}
        edge = pair(tool("s", "list_commits", "", [{"sha": str}]), tool("s", "get_commit", takes))
        assert mappings(edge) == {("[].sha", "ref")}
        assert edge is not None
        assert edge.kinds == {"text"}

    def test_one_place_does_not_fill_two_parameters(self) -> None:
        move = tool("s", "move_money", "from_account_id! to_account_id!")
        edge = pair(tool("s", "get_account", "", {"account_id": str}), move)
        assert edge is not None
        assert len(edge.links) == 1
        assert edge.coverage == "partial"


class TestTypes:
    @pytest.mark.parametrize(
        ("given", "asked"),
        [
            ({"customer_id": int}, {"customer_id!": str}),
            ({"customer_id": {"name": str}}, {"customer_id!": str}),
            ({"departure_day": "date"}, {"departure_day!": "date-time"}),
            ({"cabin_class": {"first", "second"}}, {"cabin_class!": {"economy", "business"}}),
            ({"distance_km": float}, {"distance_km!": int}),
        ],
    )
    def test_a_type_conflict_outweighs_every_other_evidence(self, given: Any, asked: Any) -> None:
        source, target = (
            tool("s", "a", "", given, "Use with b."),
            tool("s", "b", asked, description="Takes it from `a`."),
        )
        name = next(iter(given))
        seen = Seen({(source.tool, name, target.tool, name): (99, 9)})
        assert Graph([source, target], seen).edge(source.tool, target.tool) is None
        near = explain(Graph([source, target], seen), source.tool, target.tool).near
        assert near[0].reason == "type conflict"

    def test_an_integer_is_a_number(self) -> None:
        assert (
            pair(tool("s", "a", "", {"distance_km": int}), tool("s", "b", "distance_km:number!")) is not None
        )


class TestLineage:
    A = tool("a", "look", "", {"blob": {"x": str}})
    B = tool("b", "act", "whatever!")

    def test_observed_flows_make_an_edge_without_any_shared_name(self) -> None:
        seen = Seen({(self.A.tool, "blob.x", self.B.tool, "whatever"): (5, 3)})
        edge = Graph([self.A, self.B], seen).edge(self.A.tool, self.B.tool)
        assert mappings(edge) == {("blob.x", "whatever")}
        assert edge is not None
        assert edge.kinds == {"lineage"}

    def test_it_is_found_from_both_ends(self) -> None:
        graph = Graph([self.A, self.B], Seen({(self.A.tool, "blob.x", self.B.tool, "whatever"): (5, 3)}))
        assert graph.into(self.B.tool) == graph.out_of(self.A.tool) == tuple(graph.edges())

    def test_it_outweighs_names_and_grows_with_its_count(self) -> None:
        source, target = tool("s", "a", "", {"customer_id": str}), tool("s", "b", "customer_id!")
        plain = pair(source, target)
        sure = [
            Graph(
                [source, target], Seen({(source.tool, "customer_id", target.tool, "customer_id"): (times, 1)})
            ).edge(source.tool, target.tool)
            for times in (1, 2, 50)
        ]
        confidences = [edge.confidence for edge in [plain, *sure] if edge is not None]
        assert len(confidences) == 4
        assert confidences == sorted(set(confidences))
        assert sure[1] is not None
        weights = {one.kind: one.weight for one in sure[1].links[0].evidence}
        assert {"lineage", "entity"} == weights.keys()

    def test_new_lineage_replaces_the_old(self) -> None:
        graph = Graph([self.A, self.B])
        assert not graph.into(self.B.tool)
        graph.follow(Seen({(self.A.tool, "blob.x", self.B.tool, "whatever"): (5, 3)}))
        assert len(graph.into(self.B.tool)) == 1
        graph.follow(None)
        assert not graph.into(self.B.tool)

    def test_lineage_of_a_field_that_no_longer_exists_is_ignored(self) -> None:
        seen = Seen({(self.A.tool, "gone", self.B.tool, "whatever"): (5, 3)})
        assert Graph([self.A, self.B], seen).edge(self.A.tool, self.B.tool) is None


class TestConfidence:
    def test_learned_outputs_are_less_certain_than_declared_ones(self) -> None:
        target = tool("s", "b", "customer_id!")
        declared = pair(tool("s", "a", "", {"customer_id": str}), target)
        often = pair(tool("s", "a", "", learned={"customer_id": str}, sure=0.95), target)
        once = pair(tool("s", "a", "", learned={"customer_id": str}, sure=0.0), target)
        assert declared is not None
        assert often is not None
        assert once is not None
        assert declared.confidence > often.confidence > once.confidence

    def test_a_field_that_may_be_missing_is_less_certain(self) -> None:
        target = tool("s", "b", "customer_id!")
        sure = pair(tool("s", "a", "", {"customer": {"id": str}}), target)
        maybe = pair(tool("s", "a", "", {"customer?": {"id": str}, "other": str}), target)
        assert sure is not None
        assert maybe is not None
        assert sure.confidence > maybe.confidence


class TestSecrets:
    @pytest.mark.parametrize("name", ["api_key", "password", "token"])
    def test_no_name_or_description_supplies_a_secret(self, name: str) -> None:
        source = tool("s", "get_account", "", {name: str, "account_id": str}, "Use with forecast.")
        target = tool("s", "forecast", f"{name}! account_id!", description=f"The {name} from get_account.")
        assert mappings(pair(source, target)) == {("account_id", "account_id")}
        alone = tool("s", "forecast", f"{name}!")
        graph = graph_of(source, alone)
        assert graph.edge(source.tool, alone.tool) is None
        assert explain(graph, source.tool, alone.tool).near[0].reason == "each call's own"

    def test_observed_flows_do(self) -> None:
        source, target = tool("s", "sign_in", "", {"token": str}), tool("s", "profile", "token!")
        seen = Seen({(source.tool, "token", target.tool, "token"): (3, 2)})
        assert Graph([source, target], seen).edge(source.tool, target.tool) is not None


class TestLives:
    def test_a_deleted_thing_feeds_nothing(self) -> None:
        gone = tool("s", "delete_customer", "customer_id!", {"customer_id": str})
        assert pair(gone, ORDERS) is None

    def test_ids_of_another_server_are_much_less_certain(self) -> None:
        users = tool("chat", "list_users", "", {"users": [{"user_id": str, "email": "email"}]})
        other = pair(users, tool("git", "get_profile", "user_id!"))
        same = pair(users, tool("chat", "get_profile", "user_id!"))
        assert same is not None
        assert other is None or other.confidence < 0.6 < same.confidence
        assert pair(users, tool("git", "get_member", {"email!": "email"})) is not None


def test_edges_are_in_order_of_confidence() -> None:
    graph = graph_of(
        tool("s", "z", "", {"customer_id": str}), tool("s", "a", "", {"customers": [str]}), ORDERS
    )
    confidences = [edge.confidence for edge in graph.into(ORDERS.tool)]
    assert len(confidences) == 2
    assert confidences == sorted(confidences, reverse=True)


def test_unknown_tools_have_no_edges() -> None:
    graph = graph_of(ORDERS)
    assert not graph.into("x")
    assert not graph.out_of("x")
    assert graph.edge("x", ORDERS.tool) is None
