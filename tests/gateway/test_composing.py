"""What can be asked of a gateway about how tools fit together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import definitions
from halflap.config import Config
from halflap.errors import ToolBlockedError, ToolNotFoundError, UsageError
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def _object(names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names.split()},
        "required": names.split(),
    }


def tool(name: str, takes: str, gives: str, description: str, **claims: bool) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": _object(takes),
        "outputSchema": _object(gives),
        "annotations": claims,
    }


TOOLS = (
    tool("find_customer", "phone", "customer_id", "Find a customer by phone.", readOnlyHint=True),
    tool("customer_invoices", "customer_id", "invoice_id", "The invoices of a customer.", readOnlyHint=True),
    tool("read_invoice", "invoice_id", "total currency", "Read an invoice.", readOnlyHint=True),
    tool("void_invoice", "invoice_id", "credit_note_id", "Void an invoice.", destructiveHint=True),
    tool("print_credit_note", "credit_note_id", "page", "Print a credit note."),
)


ALL = {
    "name": "list_invoices",
    "description": "All invoices.",
    "inputSchema": _object(""),
    "outputSchema": {
        "type": "object",
        "properties": {"invoices": {"type": "array", "items": _object("invoice_id")}},
        "required": ["invoices"],
    },
    "annotations": {"readOnlyHint": True},
}


def shop(folder: Path, **more: Any) -> Config:
    server = definitions(folder, *TOOLS, *more.pop("tools_too", ()), name="shop")
    server |= {"trust_annotations": more.pop("trusted", True)}
    return Config.from_mapping({"servers": [server], "store": {"path": str(folder / "store.db")}, **more})


def asked(run: Run, config: Config, question: Callable[[Gateway], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        async with Gateway.open(config) as gateway:
            return await question(gateway)

    return run(main())


def short(tools: list[str]) -> list[str]:
    return [name.rpartition("__")[2] for name in tools]


def test_a_tool_is_wanted_by_its_own_name_or_by_ours(run: Run, tmp_path: Path) -> None:
    async def ask(gateway: Gateway) -> Any:
        return [
            await gateway.suggest_workflow(want=name, have={"phone": "1"})
            for name in ("read_invoice", "mcp__shop__read_invoice")
        ]

    one, other = asked(run, shop(tmp_path), ask)
    assert one == other
    assert short(one["suggestions"][0]["tools"]) == ["find_customer", "customer_invoices", "read_invoice"]
    assert one["missing"] == []


def test_a_field_is_wanted_by_its_name(run: Run, tmp_path: Path) -> None:
    found = asked(
        run,
        shop(tmp_path),
        lambda gateway: gateway.suggest_workflow(want="currency", have={"customer_id": "1"}),
    )
    assert short(found["suggestions"][0]["tools"]) == ["customer_invoices", "read_invoice"]


def test_a_goal_is_matched_through_search(run: Run, tmp_path: Path) -> None:
    found = asked(
        run,
        shop(tmp_path),
        lambda gateway: gateway.suggest_workflow(goal="the invoices of a customer", have={"phone": "1"}),
    )
    assert short(found["suggestions"][0]["tools"]) == ["find_customer", "customer_invoices"]


def test_a_goal_that_no_tool_fits_says_so(run: Run, tmp_path: Path) -> None:
    found = asked(run, shop(tmp_path), lambda gateway: gateway.suggest_workflow(goal="zyzzyva quux"))
    assert found["suggestions"] == []
    assert found["missing"][0]["note"].startswith("No tool fits these words.")


def test_no_plan_passes_through_what_destroys_unless_it_is_wanted(run: Run, tmp_path: Path) -> None:
    async def ask(gateway: Gateway) -> Any:
        return [
            await gateway.suggest_workflow(want=want, have={"invoice_id": "1"})
            for want in ("print_credit_note", "void_invoice")
        ]

    through, wanted = asked(run, shop(tmp_path), ask)
    assert all("void_invoice" not in short(one["tools"]) for one in through["suggestions"])
    assert [one["parameter"] for one in through["missing"]] == ["credit_note_id"]
    assert [short(one["tools"]) for one in wanted["suggestions"]] == [["void_invoice"]]


def test_a_goal_that_does_not_say_so_is_not_met_by_what_changes_something(run: Run, tmp_path: Path) -> None:
    async def ask(gateway: Gateway) -> Any:
        have = {"invoice_id": "1"}
        return [
            await gateway.suggest_workflow(goal=goal, have=have)
            for goal in ("look at an invoice", "void an invoice")
        ]

    looking, voiding = asked(run, shop(tmp_path), ask)
    assert all("void_invoice" not in short(one["tools"]) for one in looking["suggestions"])
    assert all("void_invoice" not in short(one["tools"]) for one in voiding["suggestions"])
    assert "mcp__shop__void_invoice" in [one["parameter"] for one in voiding["missing"]]


def test_what_is_wanted_destroys_everything_that_is_found_only_if_the_goal_says_so(
    run: Run, tmp_path: Path
) -> None:
    async def ask(gateway: Gateway) -> Any:
        return [
            await gateway.suggest_workflow(goal, want="void_invoice")
            for goal in ("void an invoice", "void all invoices")
        ]

    one, every = asked(run, shop(tmp_path, tools_too=[ALL]), ask)
    voiding = [found for found in one["suggestions"] if "void_invoice" in short(found["tools"])]
    assert all(found["missing"] and "list_invoices" not in short(found["tools"]) for found in voiding)
    (which,) = one["missing"]
    assert (which["tool"], which["parameter"]) == ("mcp__shop__void_invoice", "invoice_id")
    assert "to all that are found" in which["note"]
    assert short(every["suggestions"][0]["tools"]) == ["list_invoices", "void_invoice"]


def test_a_change_that_is_asked_for_comes_before_reading_though_it_lacks_something(
    run: Run, tmp_path: Path
) -> None:
    more = [
        tool("create_invoice", "customer_id purpose", "invoice_id", "Make an invoice for a customer."),
        tool(
            "list_customer_invoices",
            "customer_id",
            "total",
            "The invoices for a customer.",
            readOnlyHint=True,
        ),
    ]
    found = asked(
        run,
        shop(tmp_path, tools_too=more),
        lambda gateway: gateway.suggest_workflow(
            goal="create an invoice for a customer", have={"customer_id": "1"}
        ),
    )
    assert short(found["suggestions"][0]["tools"]) == ["create_invoice"]
    assert [one["parameter"] for one in found["missing"]] == ["purpose"]


def test_who_voids_one_is_told_who_does_and_not_handed_what_voids_all(run: Run, tmp_path: Path) -> None:
    more = [
        ALL,
        tool("void_all_invoices", "", "done", "Void all invoices."),
        tool("wipe_invoices", "", "done", "Void every invoice."),
        tool("invoice_writeoff", "invoice_id", "writeoff_id", "Marks an invoice as lost."),
        tool("read_writeoff", "writeoff_id", "text", "Read a writeoff.", readOnlyHint=True),
    ]

    async def ask(gateway: Gateway) -> Any:
        goals = ("void my invoice", "void all invoices", "which invoices did customers void")
        told = [await gateway.suggest_workflow(goal=one) for one in goals]
        return [*told, await gateway.suggest_workflow(want="read_writeoff", have={"invoice_id": "1"})]

    one, every, question, through = asked(run, shop(tmp_path, tools_too=more), ask)
    assert one["missing"][0]["parameter"] == "mcp__shop__void_invoice"
    assert "mcp__shop__void_all_invoices" in [lack["parameter"] for lack in every["missing"]]
    looked = [
        step for told in (one, every, question) for found in told["suggestions"] for step in found["steps"]
    ]
    assert looked
    assert not any(step["may_change_something"] for step in looked)
    (lacks,) = through["missing"]
    assert lacks["could_provide"][0]["tool"] == "mcp__shop__invoice_writeoff"
    assert "`tools.read_only`" in lacks["could_provide"][0]["why"]


def test_what_is_blocked_is_in_no_plan_and_wanting_it_says_why(run: Run, tmp_path: Path) -> None:
    config = shop(tmp_path, tools={"block": ["mcp__shop__customer_invoices"]})

    async def ask(gateway: Gateway) -> Any:
        with pytest.raises(ToolBlockedError):
            await gateway.suggest_workflow(want="mcp__shop__customer_invoices")
        with pytest.raises(ToolNotFoundError, match="mcp__shop__read_invoice"):
            await gateway.suggest_workflow(want="mcp__shop__read_invoce")
        return await gateway.suggest_workflow(want="read_invoice", have={"phone": "1"})

    found = asked(run, config, ask)
    assert all("customer_invoices" not in short(one["tools"]) for one in found["suggestions"])
    assert found["missing"][0]["parameter"] == "invoice_id"


def test_where_programs_may_only_read_plans_only_read(run: Run, tmp_path: Path) -> None:
    config = shop(tmp_path, execution={"read_only": True})

    async def ask(gateway: Gateway) -> Any:
        graph = await gateway.graph()
        found = await gateway.suggest_workflow(want="read_invoice", have={"phone": "1"})
        return graph, found, await gateway.suggest_workflow(want="print_credit_note")

    graph, reading, printing = asked(run, config, ask)
    assert "mcp__shop__print_credit_note" in graph.tools
    assert short(reading["suggestions"][0]["tools"])[-1] == "read_invoice"
    assert printing["suggestions"] == []


def test_a_tool_that_programs_may_not_call_is_told_with_how_to_let_it_in(run: Run, tmp_path: Path) -> None:
    config = shop(tmp_path, execution={"read_only": True}, trusted=False)

    async def ask(gateway: Gateway) -> Any:
        tool = await gateway.suggest_workflow(want="read_invoice")
        field = await gateway.suggest_workflow(want="currency", have={"invoice_id": "I1"})
        goal = await gateway.suggest_workflow(goal="read an invoice", have={"invoice_id": "I1"})
        return tool, field, goal, await gateway.suggest_workflow(want="void_invoice")

    tool, field, goal, changing = asked(run, config, ask)
    for found in (tool, goal):
        (missing,) = found["missing"]
        assert found["suggestions"] == []
        assert "mcp__shop__read_invoice: `execution.read_only` keeps it out" in missing["note"]
        assert "`tools.read_only`" in missing["note"]
    (could,) = field["missing"][0]["could_provide"]
    assert could["tool"] == "mcp__shop__read_invoice"
    assert "`tools.read_only`" in could["why"]
    assert field["missing"][0]["note"].startswith("It is returned only by tools that are not called for it")
    note = changing["missing"][0]["note"]
    assert "since it changes something" in note
    assert "tools.read_only" not in note


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({}, "Say what is wanted"),
        ({"goal": " ", "want": ""}, "Say what is wanted"),
        ({"want": "x", "limit": 0}, "from 1 to 10"),
        ({"want": "x", "limit": 11}, "from 1 to 10"),
    ],
)
def test_what_is_asked_wrongly_is_said(run: Run, tmp_path: Path, question: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        asked(run, shop(tmp_path), lambda gateway: gateway.suggest_workflow(**question))


def test_an_edge_is_explained_and_so_is_its_absence(run: Run, tmp_path: Path) -> None:
    async def ask(gateway: Gateway) -> Any:
        return [
            (await gateway.explain_edge(*pair)).to_json()
            for pair in (("find_customer", "customer_invoices"), ("read_invoice", "find_customer"))
        ]

    edge, none = asked(run, shop(tmp_path), ask)
    assert edge["edge"]["coverage"] == "strict"
    assert edge["edge"]["mappings"][0]["from"] == "customer_id"
    assert none["edge"] is None
    assert none["near"]


def test_what_is_counted_fits_the_graph_and_can_be_written_as_json(run: Run, tmp_path: Path) -> None:
    async def ask(gateway: Gateway) -> Any:
        graph = await gateway.graph()
        return list(graph.edges()), await gateway.metrics()

    edges, counted = asked(run, shop(tmp_path), ask)
    json.dumps(counted)
    assert (counted["tools"], counted["callable"]) == (5, 5)
    assert counted["servers"] == {"shop": 5}
    assert counted["outputs"] == {"declared": 5, "learned": 0, "unknown": 0}
    assert counted["edges"]["total"] == len(edges) == sum(counted["edges"]["coverage"].values())
    assert counted["edges"]["coverage"]["strict"] >= 4
    assert sum(counted["edges"]["evidence"]["name"].values()) >= 4


def test_what_learning_took_is_counted(run: Run, tmp_path: Path) -> None:
    async def ask(gateway: Gateway) -> Any:
        for number in range(3):
            await gateway.call("mcp__shop__find_customer", phone=str(number))
        return (await gateway.metrics())["learning"]

    learning = asked(run, shop(tmp_path), ask)
    assert (learning["results"], learning["dropped"]) == (3.0, 0.0)
    assert learning["writes"] >= 1
    assert learning["look_seconds"] > 0
    assert learning["lag_seconds"] >= 0


def test_without_learning_there_is_a_graph_of_what_is_declared(run: Run, tmp_path: Path) -> None:
    config = shop(tmp_path, learning={"enabled": False})
    found = asked(
        run, config, lambda gateway: gateway.suggest_workflow(want="read_invoice", have={"phone": "1"})
    )
    assert short(found["suggestions"][0]["tools"]) == ["find_customer", "customer_invoices", "read_invoice"]


def _many(name: str) -> dict[str, Any]:
    """A tool that lists things of a kind."""
    return ALL | {
        "name": f"list_{name}s",
        "description": f"List my {name}s.",
        "outputSchema": {
            "type": "object",
            "properties": {f"{name}s": {"type": "array", "items": _object(f"{name}_id")}},
            "required": [f"{name}s"],
        },
        "annotations": {},
    }


def _for_each(found: dict[str, Any]) -> set[str]:
    """The tools that are called for each of many in any suggestion."""
    steps = [step for one in found["suggestions"] for step in one["steps"]]
    return {step["tool"].rpartition("__")[2] for step in steps if step["fan_out"]}


class TestUnknownVerbs:
    """Words that nobody listed as changing anything are not harmless for that."""

    VERBS = ("provision", "scale", "power_off", "toggle", "frobnicate", "hibernate", "resize")
    TOOLS = (
        _many("server"),
        *(tool(f"{one}_server", "server_id", "done", f"{one.capitalize()} a server.") for one in VERBS),
        _many("card"),
        tool("charge", "card_id amount", "receipt_id", "Charge a card."),
        _many("account") | {"annotations": {"readOnlyHint": True}},
        tool(
            "transfer", "account_id to_account_id amount", "transfer_id", "Transfer money between accounts."
        ),
    )

    def test_they_are_not_done_to_all_that_is_found_nor_meant_unless_said(
        self, run: Run, tmp_path: Path
    ) -> None:
        goals = ("every server", "show my servers", "show my cards", "provision a server")

        async def ask(gateway: Gateway) -> Any:
            money = {"amount": "1", "to_account_id": "a"}
            return [
                *[await gateway.suggest_workflow(goal=goal) for goal in goals],
                await gateway.suggest_workflow(want="hibernate_server"),
                await gateway.suggest_workflow(goal="transfer money from my account", have=money),
            ]

        config = shop(tmp_path, tools_too=self.TOOLS)
        every, servers, cards, provisioned, wanted, moved = asked(run, config, ask)
        for found in (every, servers):
            assert short(found["suggestions"][0]["tools"]) == ["list_servers"]
            assert all(set(short(one["tools"])) == {"list_servers"} for one in found["suggestions"])
        assert all("charge" not in short(one["tools"]) for one in cards["suggestions"])
        assert short(provisioned["suggestions"][0]["tools"]) == ["provision_server"]
        assert [one["parameter"] for one in provisioned["missing"]] == ["server_id"]
        assert provisioned["suggestions"][0]["steps"][0]["may_change_something"]
        assert [one["parameter"] for one in wanted["missing"]] == ["server_id"]
        assert not _for_each(moved)
        assert [one["parameter"] for one in moved["missing"]] == ["account_id"]


class TestWhatAServerOwnsUpTo:
    TOOLS = (
        tool("get_lease", "phone", "lease_id", "Get a lease.", destructiveHint=True, readOnlyHint=False),
        tool("get_seal", "phone", "seal_id", "Get a seal.", readOnlyHint=False),
        tool("read_lease", "lease_id", "text", "Read a lease."),
        tool("read_seal", "seal_id", "text", "Read a seal."),
    )

    @pytest.mark.parametrize("trusted", [True, False])
    def test_it_counts_whether_or_not_it_is_trusted(self, run: Run, tmp_path: Path, trusted: bool) -> None:
        server = definitions(tmp_path, *self.TOOLS, name="shop") | {"trust_annotations": trusted}
        config = Config.from_mapping({"servers": [server], "store": {"path": str(tmp_path / "store.db")}})

        async def ask(gateway: Gateway) -> Any:
            wants = ("read_lease", "read_seal", "get_lease")
            return [await gateway.suggest_workflow(want=one, have={"phone": "1"}) for one in wants]

        lease, seal, wanted = asked(run, config, ask)
        assert [short(one["tools"]) for one in lease["suggestions"]] == [["read_lease"]]
        assert [short(one["tools"]) for one in seal["suggestions"]] == [["read_seal"]]
        assert lease["missing"][0]["could_provide"][0]["why"].startswith("it seems to change something")
        assert [one["may_change_something"] for one in wanted["suggestions"][0]["steps"]] == [True]

    def test_that_it_only_reads_counts_if_it_is_trusted(self, run: Run, tmp_path: Path) -> None:
        tools = (
            tool("frobnicate", "phone", "lease_id", "Frobnicate.", readOnlyHint=True),
            tool("read_lease", "lease_id", "text", "Read a lease."),
        )

        async def ask(gateway: Gateway) -> Any:
            return await gateway.suggest_workflow(want="read_lease", have={"phone": "1"})

        found = []
        for trusted in (True, False):
            (tmp_path / str(trusted)).mkdir()
            server = definitions(tmp_path / str(trusted), *tools, name="shop") | {
                "trust_annotations": trusted
            }
            store = {"path": str(tmp_path / str(trusted) / "store.db")}
            told = asked(run, Config.from_mapping({"servers": [server], "store": store}), ask)
            found.append([short(one["tools"]) for one in told["suggestions"]])
        assert found == [[["frobnicate", "read_lease"]], [["read_lease"]]]


class TestWhatIsAsked:
    def test_a_change_of_something_else_is_not_meant_nor_made_on_the_way(
        self, run: Run, tmp_path: Path
    ) -> None:
        tools = (
            tool("cancel_appointment", "appointment_id", "done", "Cancel an appointment."),
            tool("book_appointment", "pet_id", "appointment_id", "Book an appointment for a pet."),
            tool("create_entity", "name", "entity_id", "Create an entity."),
            tool("create_relation", "name", "relation_id", "Create a relation between entities."),
        )

        async def ask(gateway: Gateway) -> Any:
            return (
                await gateway.suggest_workflow(goal="cancel the appointment of a pet", have={"pet_id": "1"}),
                await gateway.suggest_workflow(goal="create an entity Alice", have={"name": "Alice"}),
            )

        cancel, create = asked(run, shop(tmp_path, tools_too=tools), ask)
        assert not any(step["may_change_something"] for one in cancel["suggestions"] for step in one["steps"])
        assert [one["parameter"] for one in cancel["missing"]] == ["mcp__shop__cancel_appointment"]
        assert [short(one["tools"]) for one in create["suggestions"]] == [["create_entity"]]

    def test_what_uses_what_is_at_hand_comes_first(self, run: Run, tmp_path: Path) -> None:
        tools = (
            tool("top_customers", "", "customer", "The top customers by cancelled orders of the year."),
            tool("customer_orders", "customer_id", "orders", "Orders of one customer."),
        )

        async def ask(gateway: Gateway) -> Any:
            return await gateway.suggest_workflow(
                goal="cancelled orders of customer CUST-001", have={"customer_id": "CUST-001"}
            )

        found = asked(run, shop(tmp_path, tools_too=tools), ask)
        assert short(found["suggestions"][0]["tools"]) == ["customer_orders"]
        assert found["suggestions"][0]["unused"] == []


def test_a_suggested_program_leaves_the_check_no_doubt(run: Run, tmp_path: Path) -> None:
    """What may be null or missing is looked up once, and left out or refused where it is not there."""
    text = {"type": "string"}
    nothing = {"type": "null"}
    lender = {"anyOf": [_object("code"), nothing]}
    exhibit = {"type": "object", "properties": {"lender": lender, "curator": lender}, "required": ["lender"]}
    exhibits = {
        "type": "object",
        "properties": {"exhibits": {"type": "array", "items": _object("exhibit_ref")}, "failure": text},
    }
    tools = (
        ALL | {"name": "list_exhibits", "outputSchema": exhibits},
        tool("get_exhibit", "exhibit_ref", "", "One exhibit.") | {"outputSchema": exhibit},
        tool("get_lender", "lender_code", "name", "Who lent it."),
        tool("lender_list", "", "name", "Several lenders.")
        | {
            "inputSchema": {
                "type": "object",
                "properties": {"lender_codes": {"type": "array", "items": text}},
                "required": ["lender_codes"],
            }
        },
    )

    async def ask(gateway: Gateway) -> Any:
        told = []
        for want, have in (("get_lender", {}), ("lender_list", {}), ("get_lender", {"exhibit_ref": "e"})):
            found = await gateway.suggest_workflow(want=want, have=have)
            assert found["missing"] == []
            best = found["suggestions"][0]
            told.append((short(best["tools"]), await gateway.check(best["program"]), best["program"]))
        return told

    made = asked(run, shop(tmp_path, tools_too=tools), ask)
    assert [tools for tools, _, _ in made] == [
        ["list_exhibits", "get_exhibit", "get_lender"],
        ["list_exhibits", "get_exhibit", "lender_list"],
        ["get_exhibit", "get_lender"],
    ]
    for _, checked, program in made:
        assert not checked.mistakes, program
        assert not checked.doubts, f"{program}\n{checked.doubts}"
