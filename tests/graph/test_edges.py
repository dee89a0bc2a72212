"""What makes a link, and what never does."""

from __future__ import annotations

from typing import Any

import pytest

from graph.making import graph_of, mappings, pair, tool
from halflap.graph.edges import Graph, explain
from halflap.graph.lineage import Count, Flow, Lineage

ORDERS = tool("s", "order_history", "customer_id! limit:integer")


def seen(source: Any, at: str, target: Any, to: str, times: int = 5) -> Lineage:
    return Lineage({Flow(source.tool, at, target.tool, to): Count(times, 1)})


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


@pytest.mark.parametrize(
    ("source", "target", "links"),
    [
        (("find", [{"order_id": str}]), ("close_orders", "order_ids:string[]!"), {("[].order_id", "order_ids[]")}),
        (("trains", [{"train_no": str}]), ("book", {"legs!": [{"train_no": str}]}), {("[].train_no", "legs[].train_no")}),
        # Identifiers come before display names.
        (
            ("list_repos", [{"name": str, "owner": {"name?": str, "login": str, "id": int}}]),
            ("list_issues", "owner! repo!"),
            {("[].owner.login", "owner"), ("[].name", "repo")},
        ),
        # A bare value is named by its tool.
        (("lookup_account_id_by_phone", str), ("get_account", "account_id!"), {("$", "account_id")}),
        # The keys of a map are not the thing that it is named after.
        (("overview", {"customers": {...: {"plan": str}}}), ("order_history", "customer_id!"), set()),
        # A new thing is not named after another.
        (
            ("list_projects", [{"id": str, "name": str, "owner_id": str}]),
            ("create_project", "name! owner_id!"),
            {("[].owner_id", "owner_id")},
        ),
        (("projects_list", {"items": [{"id": str}]}), ("get_project", "project_id!"), {("items[].id", "project_id")}),
        (("project-search", {"items": [{"id": str}]}), ("get_project", "project_id!"), {("items[].id", "project_id")}),
        # One place does not fill two parameters.
        (("get_account", {"account_id": str}), ("move", "from_account_id! to_account_id!"), {("account_id", "from_account_id")}),
        # Names that follow a path: what comes before the id is the thing.
        (("GetParcels", {"data": [{"id": str}]}), ("GetParcelsIdScans", "id!"), {("data[].id", "id")}),
        (("GetParcelsSearch", {"data": [{"id": str}]}), ("GetParcelsId", "id!"), {("data[].id", "id")}),
        (("get_task", {"created_by": {"id": str}, "id": str}), ("get_user", "user_id!"), {("created_by.id", "user_id")}),
        # `list` may say how much is meant, or be a part of the thing.
        (("get_task_list", {"id": str}), ("get_list_tasks", "task_list_id!"), {("id", "task_list_id")}),
        (("get_user_profile", {"id": str}), ("list_posts", "user_id!"), {("id", "user_id")}),
        # The bare id is that of the project, since another parameter names the issue.
        (("list_issues", [{"id": int, "project_id": str}]), ("get_project_issue", "id! issue_id:integer!"), {("[].project_id", "id"), ("[].id", "issue_id")}),
        # Names written together and apart.
        (("list_datasources", [{"datasource_id": str}]), ("query", "data_source_id!"), {("[].datasource_id", "data_source_id")}),
        # A token's id is no token.
        (("list_tokens", [{"id": str}]), ("get_token", "token_id!"), {("[].id", "token_id")}),
        # A change's new values never come from what it changes.
        (("get_task", {"id": str, "due_date": str}), ("update_task", "task_id! due_date"), {("id", "task_id")}),
        # Deep inside, optional values are filled only by what was seen to go there.
        (("list_users", [{"user_id": str}]), ("create_board", {"name!": str, "share": {"with": {"user_id": str}}}), set()),
        # What is added to several things at once is not what comes back.
        (("add_members_to_team", {"id": str}), ("get_member", "member_id!"), set()),
        # "Me" is a user, and the owner that a repository names is one too.
        (("get_me", {"id": str}), ("list_posts", "user_id!"), {("id", "user_id")}),
        (
            ("search", [{"user": {"login": str}, "repository": {"name": str, "owner": str}}]),
            ("list_comments", "owner! repository!"),
            {("[].repository.owner", "owner"), ("[].repository.name", "repository"), ("[].user.login", "owner")},
        ),
        (("get_board", {"fields": {"id": str}}), ("update_card", {"fields!": {...: str}}), set()),
        (("delete_customer", {"customer_id": str}), ("order_history", "customer_id!"), set()),
        (("list_a", {"next_cursor": str, "cursor": str}), ("list_b", "cursor!"), set()),
        (("alpha", {"id": str, "name": str, "type": str}), ("beta", "id! name! type!"), set()),
    ],
)  # fmt: skip
def test_names_say_what_belongs_together(source: Any, target: Any, links: set[tuple[str, str]]) -> None:
    assert mappings(pair(tool("s", source[0], "", source[1]), tool("s", *target))) == links


def test_the_parts_of_a_key_come_from_one_object() -> None:
    repo = {"name": str, "owner": {"login": str}}
    rows = [
        {"number": int, "base": {"repo": repo}, "head": {"repo?": repo}, "app": {"owner": {"login": str}}}
    ]
    edge = pair(tool("s", "list_pulls", "", rows), tool("s", "get_pull", "owner! repo! pull_number:integer!"))
    assert edge is not None
    best = {link.target[0].key: link.to_json()["from"] for link in reversed(edge.links)}
    assert best == {
        "owner": "[].base.repo.owner.login",
        "repo": "[].base.repo.name",
        "pull_number": "[].number",
    }


def test_an_identifier_that_the_parameter_describes_comes_first() -> None:
    target = {"usergroup!": {"type": "string", "description": "The ID of the user group."}}
    made = pair(tool("s", "usergroups_list", "", [{"handle": str, "id": str}]), tool("s", "enable", target))
    assert made is not None
    assert made.links[0].to_json()["from"] == "[].id"


@pytest.mark.parametrize(
    ("better", "worse", "target"),
    [
        # Read with their tools' names, the one is a backup of another kind.
        ("get_mongo_backup", "get_mysql_backup", "restore_mongo_backup"),
        # A kind of its own, and not one of the groups.
        ("get_backup", "get_shared_disk_backup", "restore_backup"),
    ],
)
def test_things_of_the_same_kind_come_first(better: str, worse: str, target: str) -> None:
    taking = tool("s", target, "backup_id!")
    first, second = (tool("s", name, "", {"backup": {"id": str}}) for name in (better, worse))
    found = graph_of(first, second, taking).into(taking.tool)
    assert [edge.source for edge in found] == [first.tool, second.tool]
    assert found[0].confidence > found[1].confidence


def test_a_display_name_comes_first_where_the_description_asks_for_it() -> None:
    target = tool(
        "s", "get_domain", {"domain!": {"type": "string", "description": "The name of the domain."}}
    )
    made = pair(tool("s", "list_domains", "", {"domains": [{"id": str, "name": str}]}), target)
    assert made is not None
    assert made.links[0].to_json()["from"] == "domains[].name"


def test_the_description_of_a_bare_id_says_what_it_identifies() -> None:
    link = {"type": "string", "description": "This link's unique ID, or the ID of the link."}
    source = tool("s", "click_details", "", {"urls_clicked": [{"id": link, "campaign_id": str}]})
    assert mappings(pair(source, tool("s", "list_clicks", "link_id!"))) == {("urls_clicked[].id", "link_id")}


def test_of_two_fields_that_identify_the_same_the_outer_one_comes_first() -> None:
    source = tool("s", "list_assignments", "", {"entries": [{"id?": str, "kind": str, "item": {"id": str}}]})
    made = pair(source, tool("s", "get_assignment", "assignment_id!"))
    assert made is not None
    assert made.links[0].to_json()["from"] == "entries[].id"


def test_a_word_is_not_short_for_one_that_is_made_of_two() -> None:
    groups = tool("s", "list_groups", "", [{"id": str}])
    assert pair(tool("s", "get_user", "", {"id": str}), tool("s", "enable", "usergroup_id!"), groups) is None
    assert pair(tool("s", "get_org", "", {"id": str}), tool("s", "enable", "organization_id!"), groups)


@pytest.mark.parametrize(
    ("takes", "coverage"),
    [
        ("train_no! gate_code! note", "strict"),
        ("train_no! seat!", "partial"),
        ("train_no seat!", "optional"),
        ({"train_no!": str, "seat!": {"type": "string", "default": "any"}}, "strict"),
        ({"leg!": {"train_no": str, "meal": str}}, "partial"),
    ],
)
def test_coverage_says_which_required_parameters_are_supplied(takes: Any, coverage: str) -> None:
    edge = pair(tool("s", "get_train", "", {"train_no": str, "gate_code": str}), tool("s", "check", takes))
    assert edge is not None
    assert edge.coverage == coverage


@pytest.mark.parametrize(
    ("gives", "takes", "is_paged"),
    [
        ({"items": [str], "next_cursor": str}, "cursor", True),
        ({"items": [str], "next_page": int}, "page:integer", True),
        ({"items": [str], "next_cursor": str}, "cursor:integer", False),
        ({"customer_id": str}, "customer_id!", False),
    ],
)
def test_a_tool_feeds_itself_only_by_pages(gives: Any, takes: str, is_paged: bool) -> None:
    made = tool("s", "list_things", takes, gives)
    edge = Graph([made]).edge(made.tool, made.tool)
    assert (edge is not None and edge.is_pagination) == is_paged


def test_a_common_name_weighs_less() -> None:
    source, target = tool("a", "get", "", {"gadget": str}), tool("b", "put", "gadget!")
    few = pair(source, target)
    assert few is not None
    assert few.confidence < 0.7
    assert pair(source, target, *(tool(f"s{at}", "t", "", {"gadget": str}) for at in range(300))) is None


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"customer_id": float}, {"customer_id!": str}),
        ({"departure_day": "date"}, {"departure_day!": "date-time"}),
        ({"paper_size": {"a4", "a5"}}, {"paper_size!": {"letter", "legal"}}),
        ({"distance_km": float}, {"distance_km!": int}),
    ],
)
def test_a_type_conflict_outweighs_every_evidence(given: Any, asked: Any) -> None:
    source = tool("s", "a", "", given, "Use with b.")
    target = tool("s", "b", asked, description="Takes it from `a`.")
    name = next(iter(given))
    graph = Graph([source, target], seen(source, name, target, name, 99))
    assert explain(graph, source.tool, target.tool).near[0].reason == "type conflict"


def test_lineage_makes_an_edge_without_a_shared_name_and_can_be_replaced() -> None:
    source, target = tool("a", "look", "", {"blob": {"x": str}}), tool("b", "act", "whatever!")
    graph = Graph([source, target], seen(source, "blob.x", target, "whatever"))
    edge = graph.edge(source.tool, target.tool)
    assert mappings(edge) == {("blob.x", "whatever")}
    assert graph.into(target.tool) == graph.out_of(source.tool) == tuple(graph.edges()) == (edge,)
    graph.follow(seen(source, "gone", target, "whatever"))
    assert not graph.into(target.tool)


def test_confidence_follows_from_what_is_known() -> None:
    source, target = tool("s", "a", "", {"customer_id": str}), tool("s", "b", "customer_id!")
    graphs = [
        graph_of(tool("s", "a", "", learned={"customer_id": str}), target),
        graph_of(source, target),
        *(Graph([source, target], seen(source, "customer_id", target, "customer_id", n)) for n in (1, 50)),
    ]
    edges = [one.edge(source.tool, target.tool) for one in graphs]
    confidences = [edge.confidence for edge in edges if edge is not None]
    assert len(confidences) == len(graphs)
    assert confidences == sorted(set(confidences))


@pytest.mark.parametrize("name", ["api_key", "password", "token"])
def test_secrets_are_linked_only_by_lineage(name: str) -> None:
    source = tool("s", "get_account", "", {name: str, "account_id": str}, "Use with forecast.")
    target = tool("s", "forecast", f"{name}! account_id!", description=f"The {name} from get_account.")
    assert mappings(pair(source, target)) == {("account_id", "account_id")}
    alone = tool("s", "forecast", f"{name}!")
    assert explain(graph_of(source, alone), source.tool, alone.tool).near[0].reason == "each call's own"
    graph = Graph([source, alone], seen(source, name, alone, name))
    assert graph.edge(source.tool, alone.tool) is not None


def test_ids_of_another_server_are_much_less_certain() -> None:
    users = tool("chat", "list_users", "", {"users": [{"user_id": str, "email": "email"}]})
    same = pair(users, tool("chat", "get_profile", "user_id!"))
    other = pair(users, tool("git", "get_profile", "user_id!"))
    assert same is not None
    assert other is None or other.confidence < 0.6 < same.confidence
    assert pair(users, tool("git", "get_member", {"email!": "email"})) is not None


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (tool("s", "a"), ORDERS, "no output"),
        (tool("s", "a", "", {"x": str}), tool("s", "b", "parcel_number!"), "nothing alike"),
    ],
)
def test_why_there_is_no_edge(source: Any, target: Any, reason: str) -> None:
    graph = graph_of(source, target)
    assert explain(graph, source.tool, target.tool).near[0].reason == reason
    assert explain(graph, source.tool, "nope").near[0].reason == "unknown tool"
    assert not graph.into("nope")
