"""`halflap demo`: a question answered over bundled servers, in a temporary store."""

from __future__ import annotations

import asyncio
import json
import math
import runpy
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text
from rich.tree import Tree

from halflap.cli.command import Invocation, command
from halflap.cli.commands.doctor import count_tokens
from halflap.cli.output import harmless, one_line, plural, print_json, working
from halflap.config import Config
from halflap.core.errors import HalflapError
from halflap.core.values import Result
from halflap.demo import demo_config
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rich.console import RenderableType

    from halflap.sandbox import Execution

__all__ = ["DemoError", "demo", "play"]

TOP_CUSTOMERS = "mcp__sales__sales_top_customers"
ORDER_HISTORY = "mcp__sales__order_history"
SEARCH_DOCS = "mcp__doc_retrieval__search_docs"
GET_DOC = "mcp__doc_retrieval__get_doc"

QUESTION = "Which of our best customers cancel most, and what do our documents say about refunds?"
WRONG = """\
best = await mcp__sales__sales_top_customers(period="year", limit=5)
for one in best["customers"]:
    page = await mcp__sales__order_histry(customer_id=one["id"])
hits = await mcp__doc_retrieval__search_docs(query="refunds", top_k=3)
"""
MISTAKES = {"unknown-tool", "unknown-argument"}
RIGHT = """\
import asyncio

best = await mcp__sales__sales_top_customers(period="year", limit=5)
pages = await asyncio.gather(*(
    mcp__sales__order_history(customer_id=one["customer_id"], limit=200)
    for one in best["customers"]
))
for one, page in zip(best["customers"], pages):
    gone = [order for order in page["orders"] if order["status"] == "cancelled"]
    worth = sum(order["total_cents"] for order in gone) / 100
    print(f"{one['name']}: {len(gone)} of {len(page['orders'])} cancelled, ${worth:,.0f}")
for topic in ("late shipments", "discounts", "refunds"):
    hits = await mcp__doc_retrieval__search_docs(query=topic, limit=3)
print(hits[0]["title"] + ":", hits[0]["content"])
"""
GUESS = """\
hits = await mcp__doc_retrieval__search_docs(query="refunds", limit=3)
print(hits[0]["id"])
"""
SEARCHES = {
    "best customers by revenue": TOP_CUSTOMERS,
    "orders of a customer": ORDER_HISTORY,
    "search the internal documents": SEARCH_DOCS,
}
NEXT = (
    ("halflap init", "import the MCP servers that your clients already have"),
    ("halflap add NAME -- COMMAND", "add another server"),
    ("halflap install claude-code", "add Halflap to a client"),
    ("halflap demo --full", "search, schemas, hints and suggested workflows"),
)
_WIDTH = 100


class DemoError(HalflapError):
    """The demo did not show what it should: something is broken."""

    code = "demo"


@command(shared=("json",))
async def demo(
    invocation: Invocation,
    full: Annotated[bool, typer.Option("--full", help="Show every step.")] = False,
    server: Annotated[
        Literal["sales", "doc_retrieval", "financial_data", "contract_sales"] | None,
        typer.Option("--server", help="Instead, run one of the bundled MCP servers over stdio."),
    ] = None,
) -> None:
    """Show what Halflap does, on bundled servers and in a temporary store.

    Every step checks what it shows; the exit code is 1 if something is not so.
    """
    if server is not None:
        # In a thread: the servers run an event loop themselves.
        await asyncio.to_thread(runpy.run_module, f"halflap.demo.{server}", run_name="__main__")
        return
    width = min(Console().width, _WIDTH)
    console = Console(width=width, quiet=invocation.as_json, highlight=False, emoji=False)
    data = await play(console, full=full)
    if invocation.as_json:
        print_json(data)


async def play(console: Console, *, full: bool = False) -> dict[str, Any]:
    """Print the demo; return its data."""
    show = _Show(console)
    with tempfile.TemporaryDirectory(prefix="halflap-demo-") as folder:
        config = replace(Config.from_mapping(demo_config()), data_dir=Path(folder))
        async with Gateway.open(config) as gateway:
            with working("Starting three servers"):
                await _start(gateway)
            show.print("[bold]Halflap: one MCP server in front of all your others[/]")
            show.print(f"Question: {QUESTION}")
            steps = _Steps(gateway, show)
            before = (steps.connect, steps.search, steps.inspect) if full else ()
            after = (steps.guess, steps.suggest) if full else ()
            for step in (*before, steps.refuse, steps.run, steps.learn, *after, steps.tokens):
                await step()
    show.print("")
    for text, what in NEXT[: 3 if full else None]:
        show.print(f"[bold cyan]{text:28}[/] {what}")
    return show.data


class _Show:
    """Prints the steps, and collects their data."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.data: dict[str, Any] = {}
        self.number = 0

    def step(self, title: str, why: str = "") -> None:
        self.number += 1
        self.print("")
        self.print(f"[bold cyan]{self.number} ▸ {title}[/]")
        if why:
            self.print(f"[italic]{why}[/]")

    def print(self, what: RenderableType) -> None:
        if self.console.is_terminal or self.console.quiet:
            self.console.print(what)
            return
        with self.console.capture() as capture:
            self.console.print(what)
        # In a pipe, lines have no blanks at their ends.
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
        sys.stdout.flush()

    def code(self, program: str, *, marked: Collection[int] = ()) -> None:
        style = {"theme": "ansi_dark", "background_color": "default", "line_numbers": True, "word_wrap": True}
        self.print(Syntax(harmless(program).rstrip("\n"), "python", highlight_lines=set(marked), **style))  # type: ignore[arg-type]

    def panel(self, text: str) -> None:
        self.print(Panel(Text(harmless(text).rstrip("\n")), border_style="dim", expand=False))


def _schema_tree(tool: str, schema: Mapping[str, Any]) -> Tree:
    def label(part: Mapping[str, Any]) -> str:
        kind = part.get("type", "any")
        return " | ".join(kind) if isinstance(kind, list) else str(kind)

    def grow(tree: Tree, part: Mapping[str, Any]) -> None:
        for name, member in part.get("properties", {}).items():
            grow(tree.add(f"[bold]{_escaped(name)}[/]: {label(member)}"), member)
        if isinstance(part.get("items"), dict):
            grow(tree.add(f"each item: {label(part['items'])}"), part["items"])

    tree = Tree(f"[cyan]{tool}[/] returns {label(schema)}", guide_style="dim")
    grow(tree, schema)
    return tree


def _escaped(text: str) -> str:
    return escape(one_line(text, 300))


async def _start(gateway: Gateway) -> None:
    programs = await gateway.programs()
    await asyncio.gather(gateway.refresh(), programs.ready(), programs.check_ready())
    for one in await gateway.reports():
        _expect(one.status.state == "ready", f"server {one.status.name!r} to be ready", one.status.reason)


def _expect(holds: bool, expected: str, actual: object) -> None:
    if not holds:
        raise DemoError(
            f"The demo failed: expected {expected}, got {actual}. Reinstall Halflap, or report this. Your own "
            "configuration and data are not involved."
        )


@dataclass
class _Steps:
    """The steps, each of which builds on what those before it did."""

    gateway: Gateway
    show: _Show
    calls: list[tuple[str, str]] = field(default_factory=list)
    """The tools that the program called, with the text of each result."""
    output: str = ""

    async def connect(self) -> None:
        self.show.step(
            "Three servers behind one", "An agent connects to Halflap and reaches all their tools."
        )
        reports = await self.gateway.reports()
        for one in reports:
            self.show.print(
                f"[cyan]{one.status.name:15}[/] {plural(one.tools, 'tool')}, "
                f"{one.declared_output_schemas} with an output schema"
            )
        self.show.data["connect"] = {
            "servers": [{"name": one.status.name, "tools": one.tools} for one in reports]
        }

    async def search(self) -> None:
        self.show.step("Find a tool by what it does", "A few words are enough, among thousands of tools.")
        found = {}
        for query, wanted in SEARCHES.items():
            hits = await self.gateway.search(query, limit=2)
            found[query] = [hit.name for hit in hits]
            _expect(found[query][:1] == [wanted], f"{wanted} for {query!r}", found[query])
            self.show.print(f"{query:32} [cyan]{wanted}[/]")
        self.show.data["search"] = {"found": found}

    async def inspect(self) -> None:
        self.show.step(
            "See what a tool takes and returns", "Many servers don't declare what their tools return."
        )
        for name in (TOP_CUSTOMERS, SEARCH_DOCS):
            takes, _, returns = (await self.gateway.get_schema(name)).format_compact().partition(" -> ")
            self.show.print(f"[cyan]{_escaped(takes)}[/]")
            self.show.print(f"  returns {_escaped(returns)}" if returns else "  returns [yellow]?[/]")
        known = await self.gateway.inspect(SEARCH_DOCS)
        _expect(known["outputSchema"] is None, "no output schema", known["outputSchema"])
        self.show.data["inspect"] = {"undeclared": dict(known)}

    async def refuse(self) -> None:
        self.show.step("A mistake is refused before anything runs")
        checked = await self.gateway.check(WRONG)
        execution = await self.gateway.execute(WRONG)
        rules = {one.rule for one in checked.mistakes}
        _expect(rules >= MISTAKES, f"the mistakes {sorted(MISTAKES)}", sorted(rules) or checked.skipped)
        _expect(execution.outcome == "mistaken", "the program to be refused", execution.outcome)
        _expect(not await self.gateway.recent_calls(), "no calls", "calls")
        self.show.code(WRONG, marked={one.line for one in checked.mistakes})
        for one in checked.mistakes:
            right = f" [green]{_escaped(one.right)}[/]" if one.right else ""
            self.show.print(f"[bold red]✗ line {one.line}[/] {_escaped(one.wrong)}{right}")
        self.show.print("No tool was called.")
        self.show.data["refuse"] = {
            "program": WRONG,
            "mistakes": [
                {"line": one.line, "rule": one.rule, "message": one.wrong} for one in checked.mistakes
            ],
            "outcome": execution.outcome,
        }

    async def run(self) -> None:
        self.show.step("The corrected program runs in a sandbox, without files or network")
        execution = await self.gateway.execute(RIGHT)
        _expect(execution.ok, "the program to finish", execution.text)
        self.calls, self.output = await self._recorded(execution), execution.text
        servers = {name.split("__")[1] for name, _ in self.calls}
        _expect(len(servers) > 1, "calls to two servers", servers)
        self.show.code(RIGHT)
        self.show.panel(execution.output)
        self.show.print(
            f"[dim]{len(self.calls)} calls to {len(servers)} servers, {execution.duration_ms:.0f} ms[/]"
        )
        self.show.data["run"] = {
            "program": RIGHT,
            "output": execution.output,
            "calls": [name for name, _ in self.calls],
            "milliseconds": execution.duration_ms,
            "sandbox": execution.sandbox,
        }

    async def _recorded(self, execution: Execution) -> list[tuple[str, str]]:
        _, calls = await self.gateway.run(execution.run)
        return [
            (
                f"mcp__{one.server}__{one.tool}",
                Result.from_wire(json.loads(one.result)).text if one.result else "",
            )
            for one in calls
        ]

    async def learn(self) -> None:
        self.show.step("search_docs declares no output schema; Halflap has learned it")
        known = await self.gateway.inspect(SEARCH_DOCS)
        schema, seen = known.get("observedSchema"), known.get("observations", 0)
        made = sum(name == SEARCH_DOCS for name, _ in self.calls)
        _expect(schema is not None and seen == made, f"a schema from {made} results", f"{seen} results")
        assert schema is not None
        keys = schema.get("items", {}).get("properties", {})
        _expect("doc_id" in keys, "the key doc_id", sorted(keys))
        self.show.print(_schema_tree(SEARCH_DOCS, schema))
        chance = math.floor(100 * known["confidence"])
        self.show.print(
            f"Learned from {seen} results; the next one fits with at least {chance} % probability."
        )
        self.show.data["learn"] = {
            "tool": SEARCH_DOCS,
            "observations": seen,
            "confidence": known["confidence"],
            "observedSchema": schema,
        }

    async def guess(self) -> None:
        self.show.step("From now on, a wrong key gets a hint", "Learned schemas never stop a program.")
        execution = await self.gateway.execute(GUESS)
        hints = [line for line in execution.text.splitlines() if line.startswith("Hint: ")]
        _expect(any("doc_id" in one for one in hints), "a hint that names doc_id", execution.text)
        self.show.code(GUESS, marked={2})
        self.show.panel("\n".join(hints))
        self.show.data["guess"] = {"program": GUESS, "outcome": execution.outcome, "hints": hints}

    async def suggest(self) -> None:
        self.show.step(
            "A workflow is suggested and run",
            f"From a query to {GET_DOC}: possible now that its input is known.",
        )
        found = await self.gateway.suggest_workflow(
            want=GET_DOC, have={"query": "refunds for cancelled orders"}, limit=1
        )
        _expect(bool(found["suggestions"]), "a suggestion", "none")
        best: Mapping[str, Any] = found["suggestions"][0]
        _expect(best["tools"] == [SEARCH_DOCS, GET_DOC], "search_docs, then get_doc", best["tools"])
        execution = await self.gateway.execute(best["program"])
        _expect(execution.ok, "the suggested program to finish", execution.text)
        self.show.code(best["program"])
        self.show.panel(one_line(execution.output, 300))
        self.show.data["suggest"] = {
            "tools": best["tools"],
            "program": best["program"],
            "output": execution.output,
        }

    async def tokens(self) -> None:
        """Count with a tokenizer, or in bytes where none is installed."""
        texts = ["\n".join(text for _, text in self.calls), self.output]
        counts = [count_tokens(text) for text in texts]
        unit = "tokens"
        if None in counts:
            unit, counts = "bytes", [len(text.encode()) for text in texts]
        results, read = (one or 0 for one in counts)
        _expect(0 < read < results, f"less than {results} {unit} to be read", read)
        self.show.step(f"The model reads {read:,} {unit} instead of {results:,}")
        self.show.print(
            f"{len(self.calls)} results stayed in the sandbox; only what the program printed came back."
        )
        self.show.data["tokens"] = {"unit": unit, "results": results, "read": read}
