from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, mappings, pair, tool
from halflap.graph.graph import Graph

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


ORDERS = tool("s", "order_history", "customer_id! limit:integer")


@pytest.mark.parametrize(
    ("gives", "mapping"),
    [
        ({"customers": [{"customer_id": str}]}, "customers[].customer_id"),
        ({"customer": {"id": str}}, "customer.id"),
        ({"customerId": str}, "customerId"),
        ([{"customer_id": str}], "[].customer_id"),
        ({"customers": [str]}, "customers[]"),
        ({"customers": {...: {"plan": str}}}, "customers.{key}"),
        ({"success": bool, "data": {"customer": {"id": str}}}, "data.customer.id"),
        ({"vip": {"customers": [{"id": str}]}}, "vip.customers[].id"),
        ({"customer": str}, "customer"),
    ],
)
def test_a_customers_id_is_found(gives: Any, mapping: str) -> None:
    edge = pair(tool("s", "overview", "", gives), ORDERS)
    assert mappings(edge) == {(mapping, "customer_id")}
    assert edge is not None
    assert edge.coverage == "strict"


def test_a_list_of_them_is_a_fan_out() -> None:
    edge = pair(tool("s", "top", "", {"customers": [{"customer_id": str}]}), ORDERS)
    assert edge is not None
    assert edge.links[0].is_fan_out


def test_many_values_go_into_one_plural_parameter() -> None:
    edge = pair(
        tool("s", "find", "", {"orders": [{"order_id": str}]}),
        tool("s", "close_orders", "order_ids:string[]!"),
    )
    assert mappings(edge) == {("orders[].order_id", "order_ids[]")}
    assert edge is not None
    assert not edge.links[0].is_fan_out


def test_items_go_into_nested_arguments() -> None:
    book = tool("s", "book", {"flights!": [{"flight_number": str, "seat?": str}]})
    edge = pair(tool("s", "search_flights", "", [{"flight_number": str, "price": int}]), book)
    assert ("[].flight_number", "flights[].flight_number") in mappings(edge)
    assert edge is not None
    assert edge.coverage == "strict"


def test_the_keys_of_a_map_are_what_they_are_called() -> None:
    pay = tool("s", "charge", "payment_id! amount:number!")
    edge = pair(tool("s", "profile", "", {"payment_methods": {...: {"brand": str}}}), pay)
    assert ("payment_methods.{key}", "payment_id") in mappings(edge)


def test_objects_of_the_same_shape_go_as_they_are() -> None:
    book = tool("s", "book", {"passengers!": [{"first_name": str, "last_name": str, "dob": str}]})
    profile = tool(
        "s",
        "profile",
        "",
        {"saved_passengers": [{"first_name": str, "last_name": str, "dob": str, "vip": bool}]},
    )
    edge = pair(profile, book)
    assert ("saved_passengers[]", "passengers[]") in mappings(edge)
    assert edge is not None
    assert "shape" in edge.kinds


class TestCoverage:
    A = tool("s", "get_flight", "", {"flight_number": str, "gate_code": str})

    def test_strict_all_required_parameters(self) -> None:
        edge = pair(self.A, tool("s", "check", "flight_number! gate_code! note"))
        assert edge is not None
        assert edge.coverage == "strict"

    def test_partial_some_of_them(self) -> None:
        edge = pair(self.A, tool("s", "check", "flight_number! seat!"))
        assert edge is not None
        assert edge.coverage == "partial"

    def test_optional_only_others(self) -> None:
        edge = pair(self.A, tool("s", "check", "flight_number seat!"))
        assert edge is not None
        assert edge.coverage == "optional"

    def test_without_required_parameters_it_is_optional(self) -> None:
        edge = pair(self.A, tool("s", "check", "flight_number"))
        assert edge is not None
        assert edge.coverage == "optional"

    def test_a_default_makes_a_parameter_optional(self) -> None:
        takes = {"flight_number!": str, "seat!": {"type": "string", "default": "any"}}
        edge = pair(self.A, tool("s", "check", takes))
        assert edge is not None
        assert edge.coverage == "strict"

    def test_of_an_object_all_that_is_required_in_it_has_to_be_supplied(self) -> None:
        takes = {"leg!": {"flight_number": str, "meal": str}}
        edge = pair(self.A, tool("s", "check", takes))
        assert edge is not None
        assert edge.coverage == "partial"


class TestPagination:
    @pytest.mark.parametrize(
        ("gives", "takes"),
        [
            ({"items": [str], "next_cursor": str}, "cursor"),
            ({"pagination": {"next_cursor": str}}, "cursor"),
            ({"nextPageToken": str}, "pageToken"),
            ({"next_page": int}, "page:integer"),
            ({"page_info": {"end_cursor": str}}, "after"),
            ({"next_offset": int}, "offset:integer"),
        ],
    )
    def test_a_tool_leads_to_its_next_page(self, gives: Any, takes: str) -> None:
        made = tool("s", "list_things", takes, gives)
        edge = Graph([made]).edge(made.tool, made.tool)
        assert edge is not None
        assert edge.is_pagination
        assert edge.source == edge.target

    def test_never_to_that_of_another_tool(self) -> None:
        assert (
            pair(tool("s", "list_a", "cursor", {"next_cursor": str}), tool("s", "list_b", "cursor")) is None
        )
        assert pair(tool("s", "list_a", "cursor", {"cursor": str}), tool("s", "list_b", "cursor!")) is None

    def test_a_tool_feeds_itself_by_nothing_else(self) -> None:
        made = tool("s", "get_customer", "customer_id!", {"customer_id": str})
        assert Graph([made]).edge(made.tool, made.tool) is None

    def test_another_type_of_cursor_is_none(self) -> None:
        made = tool("s", "list_things", "cursor:integer", {"next_cursor": str})
        assert Graph([made]).edge(made.tool, made.tool) is None


class TestBareResults:
    @pytest.mark.parametrize(
        ("name", "gives", "takes"),
        [
            ("get_user_id", str, "user_id!"),
            ("resolve-library-id", str, "libraryId!"),
            ("get_current_date", str, "date!"),
            ("upload_file", "uri", "file_url!"),
            ("create_invoice", "uuid", "invoice_id!"),
            ("create_invoice", int, "invoice_id:integer!"),
            ("list_tables", [str], "table_name!"),
            ("search_files", [str], "file_path!"),
        ],
    )
    def test_the_tools_name_says_what_it_is(self, name: str, gives: Any, takes: str) -> None:
        assert pair(tool("s", name, "", gives), tool("s", "use_it", takes)) is not None

    @pytest.mark.parametrize(
        ("name", "gives", "takes"),
        [
            # It may be a sentence that says that there is an invoice now.
            ("create_invoice", str, "invoice_id!"),
            ("send_certificate", str, "certificate_id!"),
            ("count_users", int, "user_id:integer!"),
            ("think", str, "thought!"),
            ("get_weather", str, "city!"),
        ],
    )
    def test_or_it_does_not(self, name: str, gives: Any, takes: str) -> None:
        assert pair(tool("s", name, "", gives), tool("s", "use_it", takes)) is None


@pytest.mark.parametrize(
    "name", ["id", "name", "query", "limit", "path", "text", "title", "status", "type", "value", "content"]
)
@pytest.mark.parametrize("server", ["s", "t"])
def test_names_that_say_nothing_make_no_edge(name: str, server: str) -> None:
    assert pair(tool("s", "alpha", "", {name: str}), tool(server, "beta", f"{name}!")) is None


@pytest.mark.parametrize(
    "takes", ["target_language", "to_currency", "output_language_code", "target_timezone"]
)
def test_what_something_is_in_is_not_what_it_is_to_be_in(takes: str) -> None:
    own = takes.partition("_")[2]
    assert pair(tool("s", "get_song", "", {own: str}), tool("s", "convert", f"text! {takes}!")) is None
    assert pair(tool("s", "get_song", "", {takes: str}), tool("s", "convert", f"text! {takes}!")) is not None


def test_where_something_is_may_be_where_something_goes() -> None:
    assert pair(tool("s", "get_hotel", "", {"city": str}), tool("s", "find_trip", "to_city!")) is not None


def test_yes_and_no_go_nowhere() -> None:
    assert pair(tool("s", "a", "", {"is_archived": bool}), tool("s", "b", "is_archived:boolean!")) is None


def test_a_name_that_many_have_weighs_less() -> None:
    source, target = tool("a", "get", "", {"gadget": str}), tool("b", "put", "gadget!")
    few = pair(source, target)
    some = pair(source, target, *(tool(f"s{number}", "t", "gadget") for number in range(8)))
    assert few is not None
    assert some is not None
    assert some.confidence < few.confidence
    assert pair(source, target, *(tool(f"s{number}", "t", "gadget") for number in range(300))) is None


def test_what_all_tools_of_one_server_share_is_that_servers_word() -> None:
    source, target = tool("a", "get", "", {"gadget": str}), tool("a", "put", "gadget!")
    assert pair(source, target, *(tool("a", f"t{number}", "gadget") for number in range(60))) is not None


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
    def test_a_conflict_is_never_an_edge(self, given: Any, asked: Any) -> None:
        source, target = (
            tool("s", "a", "", given, "Use with b."),
            tool("s", "b", asked, description="Takes it from `a`."),
        )
        name = next(iter(given))
        seen = Seen({(source.tool, name, target.tool, name): (99, 9)})
        assert Graph([source, target], seen).edge(source.tool, target.tool) is None
        near = Graph([source, target], seen).explain(source.tool, target.tool).near
        assert near[0].reason == "type conflict"

    def test_an_integer_is_a_number(self) -> None:
        assert (
            pair(tool("s", "a", "", {"distance_km": int}), tool("s", "b", "distance_km:number!")) is not None
        )

    def test_a_text_may_be_one_of_the_values(self) -> None:
        assert (
            pair(tool("s", "a", "", {"cabin_class": str}), tool("s", "b", {"cabin_class!": {"x", "y"}}))
            is not None
        )


class TestLineage:
    A = tool("a", "look", "", {"blob": {"x": str}})
    B = tool("b", "act", "whatever!")

    def test_what_was_seen_is_an_edge_though_no_name_is_alike(self) -> None:
        seen = Seen({(self.A.tool, "blob.x", self.B.tool, "whatever"): (5, 3)})
        edge = Graph([self.A, self.B], seen).edge(self.A.tool, self.B.tool)
        assert mappings(edge) == {("blob.x", "whatever")}
        assert edge is not None
        assert edge.kinds == {"lineage"}

    def test_and_is_found_from_both_ends(self) -> None:
        graph = Graph([self.A, self.B], Seen({(self.A.tool, "blob.x", self.B.tool, "whatever"): (5, 3)}))
        assert graph.into(self.B.tool) == graph.out_of(self.A.tool) == tuple(graph.edges())

    def test_it_is_the_strongest_evidence_and_more_makes_surer(self) -> None:
        source, target = tool("s", "a", "", {"customer_id": str}), tool("s", "b", "customer_id!")
        plain = pair(source, target)
        sure = [
            Graph(
                [source, target], Seen({(source.tool, "customer_id", target.tool, "customer_id"): (times, 1)})
            ).edge(source.tool, target.tool)
            for times in (1, 5, 50)
        ]
        confidences = [edge.confidence for edge in [plain, *sure] if edge is not None]
        assert len(confidences) == 4
        assert confidences == sorted(set(confidences))
        assert sure[1] is not None
        weights = {one.kind: one.weight for one in sure[1].links[0].evidence}
        assert weights["lineage"] > weights["name"]

    def test_news_of_it_take_the_place_of_what_was(self) -> None:
        graph = Graph([self.A, self.B])
        assert not graph.into(self.B.tool)
        graph.follow(Seen({(self.A.tool, "blob.x", self.B.tool, "whatever"): (5, 3)}))
        assert len(graph.into(self.B.tool)) == 1
        graph.follow(None)
        assert not graph.into(self.B.tool)

    def test_paths_that_are_no_more_are_no_edge(self) -> None:
        seen = Seen({(self.A.tool, "gone", self.B.tool, "whatever"): (5, 3)})
        assert Graph([self.A, self.B], seen).edge(self.A.tool, self.B.tool) is None


class TestConfidence:
    def test_what_was_learned_is_less_sure_than_what_is_declared(self) -> None:
        target = tool("s", "b", "customer_id!")
        declared = pair(tool("s", "a", "", {"customer_id": str}), target)
        often = pair(tool("s", "a", "", learned={"customer_id": str}, sure=0.95), target)
        once = pair(tool("s", "a", "", learned={"customer_id": str}, sure=0.0), target)
        assert declared is not None
        assert often is not None
        assert once is not None
        assert declared.confidence > often.confidence > once.confidence

    def test_its_parts_are_kept_apart(self) -> None:
        source = tool("s", "a", "", {"contact_email": "email"})
        edge = pair(source, tool("s", "b", {"contact_email!": "email"}))
        assert edge is not None
        link = edge.links[0]
        assert {one.kind for one in link.evidence} == {"name", "format"}
        assert link.confidence > max(one.weight for one in link.evidence)
        assert edge.to_json()["edge_type"] == "provides"


class TestSecrets:
    @pytest.mark.parametrize(
        "name", ["api_key", "apiKey", "password", "token", "access_token", "client_secret"]
    )
    def test_no_result_supplies_one_because_of_its_name(self, name: str) -> None:
        source = tool("s", "get_account", "", {name: str, "account_id": str}, "Use with forecast.")
        target = tool("s", "forecast", f"{name}! account_id!", description=f"The {name} from get_account.")
        assert mappings(pair(source, target)) == {("account_id", "account_id")}
        alone = tool("s", "forecast", f"{name}!")
        graph = graph_of(source, alone)
        assert graph.edge(source.tool, alone.tool) is None
        assert graph.explain(source.tool, alone.tool).near[0].reason == "secret"

    def test_but_where_values_were_seen_to_go(self) -> None:
        source, target = tool("s", "sign_in", "", {"token": str}), tool("s", "profile", "token!")
        seen = Seen({(source.tool, "token", target.tool, "token"): (3, 2)})
        assert Graph([source, target], seen).edge(source.tool, target.tool) is not None

    @pytest.mark.parametrize("name", ["upload_token", "session_id", "bundle_key"])
    def test_other_tokens_and_keys_are_none(self, name: str) -> None:
        assert pair(tool("s", "begin", "", {name: str}), tool("s", "finish", f"{name}!")) is not None


class TestEntities:
    @pytest.mark.parametrize(
        ("name", "gives", "start", "slot"),
        [
            ("list_countries", [{"code": str, "name": str}], "[].code", "country_code"),
            ("list_countries", [{"currency": {"code": str}}], "[].currency.code", "currency_code"),
            ("get_person", {"address": {"country": {"code": str}}}, "address.country.code", "country_code"),
            ("get_settings", {"indices": [{"uuid": str}]}, "indices[].uuid", "index_uuid"),
            ("list_zones", {"zones": [{"id": str}]}, "zones[].id", "zone_id"),
        ],
    )
    def test_what_is_the_same_everywhere_is_a_thing_too(
        self, name: str, gives: Any, start: str, slot: str
    ) -> None:
        assert mappings(pair(tool("s", name, "", gives), tool("s", "use", f"{slot}!"))) == {(start, slot)}

    def test_the_code_of_a_country_is_no_secret_of_one_server(self) -> None:
        source = tool("geo", "list_countries", "", [{"code": str}])
        there = pair(source, tool("holidays", "get_days", "country_code!"))
        assert there is not None
        assert there.confidence > 0.7

    def test_a_description_says_of_what_a_name_is(self) -> None:
        gives = {"entities": [{"name": str, "entityType": str}], "relations": [{"from": str, "to": str}]}
        found = tool("m", "search_nodes", "query!", gives)
        names = {
            "type": "array",
            "items": {"type": "string"},
            "description": "An array of entity names to retrieve",
        }
        assert mappings(pair(found, tool("m", "open_nodes", {"names!": names}))) == {
            ("entities[].name", "names[]")
        }
        other = {**names, "description": "An array of colours to retrieve"}
        assert pair(found, tool("m", "open_nodes", {"names!": other})) is None

    def test_many_in_one_text_are_not_one(self) -> None:
        target = tool("s", "find_trials", "location")
        assert pair(tool("s", "trial_locations_getter", "", str), target) is None
        assert pair(tool("s", "get_trial_location", "", str), target) is not None


def test_of_few_values_all_have_to_be_accepted() -> None:
    target = tool("s", "translate", {"locale!": {"de", "fr"}})
    assert pair(tool("s", "whoami", "", {"locale": {"de"}}), target) is not None
    source = tool("s", "whoami", "", {"locale": {"en", "de"}})
    near = graph_of(source, target).explain(source.tool, target.tool).near
    assert (near[0].reason, near[0].detail) == ("type conflict", "it may be 'en', which is not accepted")


class TestLives:
    def test_what_was_deleted_is_of_no_use(self) -> None:
        gone = tool("s", "delete_customer", "customer_id!", {"customer_id": str})
        assert pair(gone, ORDERS) is None

    def test_what_one_is_known_by_a_new_one_is_not(self) -> None:
        listed = tool("s", "list_branches", "", [{"name": str}])
        assert pair(listed, tool("s", "create_branch", "name!")) is None
        assert pair(listed, tool("s", "delete_branch", "name!")) is not None

    def test_between_servers_ids_of_things_that_all_have_are_others(self) -> None:
        users = tool("chat", "list_users", "", {"users": [{"user_id": str, "email": "email"}]})
        assert pair(users, tool("git", "get_profile", "user_id!")) is None
        assert pair(users, tool("git", "get_member", {"email!": "email"})) is not None


class TestWhose:
    def test_the_items_of_an_order_are_no_orders(self) -> None:
        order = tool("s", "get_order", "order_id!", {"items": [{"id": str, "product_id": str}]})
        assert pair(order, tool("s", "refund_order", "order_id!")) is None
        assert pair(order, tool("s", "get_product", "product_id!")) is not None

    def test_those_of_a_search_are(self) -> None:
        found = tool("s", "search_orders", "query!", {"items": [{"id": str}]})
        assert pair(found, tool("s", "refund_order", "order_id!")) is not None

    @pytest.mark.parametrize(
        "gives", [{"author_id": str}, {"assignee": {"id": str}}, {"messages": [{"sender_id": str}]}]
    )
    def test_who_wrote_it_is_a_user(self, gives: Any) -> None:
        assert pair(tool("s", "read_it", "", gives), tool("s", "get_user", "user_id!")) is not None
        assert pair(tool("s", "read_it", "", gives), tool("t", "get_user", "user_id!")) is None

    @pytest.mark.parametrize("name", ["to", "attendees", "recipients"])
    def test_a_description_says_that_it_takes_an_address(self, name: str) -> None:
        takes = {
            f"{name}!": {
                "type": "array",
                "items": {"type": "string"},
                "description": "E-mail addresses, such as an email of a contact",
            }
        }
        assert (
            pair(
                tool("crm", "find_contacts", "", {"contacts": [{"email": str}]}), tool("mail", "send", takes)
            )
            is not None
        )

    def test_an_id_of_one_thing_is_none_of_another(self) -> None:
        orders = tool(
            "s",
            "list_orders",
            "customer_id!",
            {"orders": [{"id": str, "total": int}]},
            "List the orders of a customer.",
        )
        assert pair(orders, tool("s", "get_customer", "customer_id!")) is None
        assert pair(orders, tool("s", "get_order", "order_id!")) is not None


def test_edges_are_in_order_of_confidence() -> None:
    graph = graph_of(
        tool("s", "z", "", {"customer_id": str}), tool("s", "a", "", {"customers": [str]}), ORDERS
    )
    confidences = [edge.confidence for edge in graph.into(ORDERS.tool)]
    assert len(confidences) == 2
    assert confidences == sorted(confidences, reverse=True)


def test_a_tool_that_is_not_there_has_no_edges() -> None:
    graph = graph_of(ORDERS)
    assert not graph.into("x")
    assert not graph.out_of("x")
    assert graph.edge("x", ORDERS.tool) is None
