"""`halflap demo`: a question answered over bundled servers, in a temporary store."""

from __future__ import annotations

import asyncio
import json
import runpy
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text
from typer import Option

from halflap.cli.command import Invocation, command
from halflap.cli.commands.doctor import count_tokens
from halflap.cli.output import one_line, safe, working
from halflap.config import Config
from halflap.core.errors import HalflapError
from halflap.core.text import plural
from halflap.core.values import Result
from halflap.demo import demo_config
from halflap.gateway import Gateway

TOP_CUSTOMERS = "mcp__sales__sales_top_customers"
ORDER_HISTORY = "mcp__sales__order_history"
SEARCH_DOCS = "mcp__doc_retrieval__search_docs"
GET_DOC = "mcp__doc_retrieval__get_doc"

QUESTION = "Which of our best customers cancel the most, and what do our documents say about refunds?"
RIGHT = """\
import asyncio

top = await mcp__sales__sales_top_customers(period="year", limit=5)
histories = await asyncio.gather(*(
    mcp__sales__order_history(customer_id=c["customer_id"], limit=200)
    for c in top["customers"]
))
for customer, history in zip(top["customers"], histories):
    name, orders = customer["name"], history["orders"]
    cancelled = [o for o in orders if o["status"] == "cancelled"]
    lost = sum(o["total_cents"] for o in cancelled) // 100
    print(f"{name}: {len(cancelled)}/{len(orders)} cancelled, ${lost:,}")

hits = []
for query in ("refunds", "cancellations", "returned goods"):
    hits += await mcp__doc_retrieval__search_docs(query=query, limit=3)
best = max(hits, key=lambda hit: hit["score"])
print(f"{best['title']}: {best['content']}")
"""
WRONG = """\
top = await mcp__sales__sales_top_customers(period="year", limit=5)
for customer in top["customers"]:
    history = await mcp__sales__order_histry(customer_id=customer["id"])
hits = await mcp__doc_retrieval__search_docs(query="refunds", top_k=3)
"""
MISTAKES = {"unknown-tool", "unknown-argument"}
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
    ("halflap init", "import the MCP servers of your clients"),
    ("halflap add NAME -- COMMAND", "add another server"),
    ("halflap install claude-code", "add Halflap to a client"),
    ("halflap demo --full", "show search, schemas, hints and suggested workflows"),
)
_WIDTH = 100


@command(shared=())
async def demo(
    _: Invocation,
    full: Annotated[bool, Option("--full", help="Show every step.")] = False,
    server: Annotated[
        Literal["sales", "doc_retrieval", "financial_data", "contract_sales"] | None,
        Option(help="Run one of the bundled servers over stdio."),
    ] = None,
) -> None:
    """Show what Halflap does, on bundled servers.

    Nothing is left behind. The exit code is 1 if a step does not show what it should.
    """
    if server is not None:
        # In a thread: the servers run an event loop themselves.
        await asyncio.to_thread(runpy.run_module, f"halflap.demo.{server}", run_name="__main__")
        return
    await play(Console(width=min(Console().width, _WIDTH), highlight=False, emoji=False), full=full)


async def play(console: Console, *, full: bool = False) -> None:
    """Print the demo."""
    with tempfile.TemporaryDirectory(prefix="halflap-demo-") as folder:
        config = replace(Config.from_mapping(demo_config()), data_dir=Path(folder))
        async with Gateway.open(config) as gateway:
            shown = _Demo(gateway, console)
            with working("Starting three servers"):
                await shown.start()
            console.print("[bold]Halflap: one MCP server in front of all your others[/]")
            console.print(f"Question: {QUESTION}")
            before = (shown.connect, shown.search, shown.inspect) if full else ()
            after = (shown.guess, shown.suggest) if full else ()
            for step in (*before, shown.run, shown.tokens, shown.refuse, shown.learn, *after):
                await step()
    console.print("")
    for text, what in NEXT[: 3 if full else None]:
        console.print(f"[bold cyan]{text:28}[/] {what}")


def _expect(holds: bool, expected: str, actual: object) -> None:
    if not holds:
        raise HalflapError(
            f"The demo failed: expected {expected}, got {actual}. Reinstall Halflap, or report this.",
            code="demo",
        )


def _escaped(text: str) -> str:
    return escape(one_line(text, 300))


@dataclass
class _Demo:
    """The steps; each builds on the ones before."""

    gateway: Gateway
    console: Console
    number: int = 0
    results: list[str] = field(default_factory=list)
    """The results of the program's calls."""
    output: str = ""

    def step(self, title: str, why: str = "") -> None:
        self.number += 1
        self.console.print(f"\n[bold cyan]{self.number} ▸ {title}[/]")
        if why:
            self.console.print(f"[italic]{why}[/]")

    def code(self, program: str, *, marked: Collection[int] = ()) -> None:
        style: dict[str, Any] = {"theme": "ansi_dark", "background_color": "default", "line_numbers": True}
        self.console.print(
            Syntax(safe(program).rstrip("\n"), "python", highlight_lines=set(marked), word_wrap=True, **style)
        )

    def panel(self, text: str) -> None:
        self.console.print(Panel(Text(safe(text).rstrip("\n")), border_style="dim", expand=False))

    async def start(self) -> None:
        programs = self.gateway.parts.programs
        await asyncio.gather(self.gateway.refresh(), programs.ready(), programs.check_ready())
        for one in await self.gateway.statuses():
            _expect(one.state == "ready", f"server {one.name!r} to be ready", one.reason)

    async def connect(self) -> None:
        self.step("Three servers behind one", "An agent connects to Halflap and can use all their tools.")
        for name, tools in self.gateway.snapshot.by_server.items():
            declared = f"{sum(1 for one in tools if one.output_schema)} with an output schema"
            self.console.print(f"[cyan]{name:15}[/] {plural(len(tools), 'tool')}, {declared}")

    async def search(self) -> None:
        self.step("Find a tool by what it does", "A few words are enough, among thousands of tools.")
        for query, wanted in SEARCHES.items():
            found = [hit.name for hit in await self.gateway.search(query, limit=2)]
            _expect(found[:1] == [wanted], f"{wanted} for {query!r}", found)
            self.console.print(f"{query:32} [cyan]{wanted}[/]")

    async def inspect(self) -> None:
        self.step("See what a tool takes and returns", "Many servers don't declare what their tools return.")
        for name in (TOP_CUSTOMERS, SEARCH_DOCS):
            takes, _, returns = (await self.gateway.get_schema(name)).format_compact().partition(" -> ")
            self.console.print(f"[cyan]{_escaped(takes)}[/]\n  returns {_escaped(returns or '?')}")

    async def run(self) -> None:
        self.step("A model writes one program; it runs in a sandbox, without files or network")
        execution = await self.gateway.execute(RIGHT)
        _expect(execution.ok, "the program to finish", execution.text)
        _, calls = await self.gateway.run(execution.run)
        self.results = [Result.from_wire(json.loads(one.result or "{}")).text for one in calls]
        self.output = execution.text
        servers = {one.server for one in calls}
        _expect(len(servers) > 1, "calls to two servers", servers)
        self.code(RIGHT)
        self.panel(execution.output)
        self.console.print(
            f"[dim]{len(calls)} calls to {len(servers)} servers, {execution.duration_ms:.0f} ms[/]"
        )

    async def tokens(self) -> None:
        """Count tokens, or bytes if no tokenizer is installed."""
        texts = ["\n".join(self.results), self.output]
        unit = "bytes" if count_tokens("") is None else "tokens"
        results, read = (len(text.encode()) if unit == "bytes" else count_tokens(text) or 0 for text in texts)
        _expect(0 < 20 * read < results, f"much less than {results} {unit} to be read", read)
        self.step(f"The model reads {read:,} {unit} instead of {results:,}")
        self.console.print(
            f"{len(self.results)} results stayed in the sandbox; only what was printed came back."
        )

    async def refuse(self) -> None:
        self.step("A mistake is refused before anything runs")
        checked = await self.gateway.check(WRONG)
        execution = await self.gateway.execute(WRONG)
        rules = {one.rule for one in checked.mistakes}
        _expect(rules >= MISTAKES, f"the mistakes {sorted(MISTAKES)}", sorted(rules) or checked.skipped)
        _expect(execution.outcome == "mistaken", "the program to be refused", execution.outcome)
        _expect(not execution.calls, "no calls", execution.calls)
        self.code(WRONG, marked={one.line for one in checked.mistakes})
        for one in checked.mistakes:
            right = f" [green]{_escaped(one.right)}[/]" if one.right else ""
            self.console.print(f"[bold red]✗ line {one.line}:[/] {_escaped(one.wrong)}{right}")
        self.console.print("No tool was called.")

    async def learn(self) -> None:
        self.step("search_docs declares no output schema; Halflap has learned it")
        known = await self.gateway.inspect(SEARCH_DOCS)
        keys = known.get("observedSchema", {}).get("items", {}).get("properties", {})
        _expect(known["outputSchema"] is None and "doc_id" in keys, "a learned key doc_id", sorted(keys))
        fields = ", ".join(f"{name}: {schema.get('type', 'any')}" for name, schema in keys.items())
        self.console.print(f"[cyan]{SEARCH_DOCS}[/] -> {_escaped(f'[{{{fields}}}]')}")
        self.console.print(
            f"Learned from {known['observations']} results. From now on, a wrong key gets a hint."
        )

    async def guess(self) -> None:
        self.step("From now on, a wrong key gets a hint", "Learned schemas never stop a program.")
        execution = await self.gateway.execute(GUESS)
        hints = [line for line in execution.text.splitlines() if line.startswith("Hint: ")]
        _expect(any("doc_id" in one for one in hints), "a hint that names doc_id", execution.text)
        self.code(GUESS, marked={2})
        self.panel("\n".join(hints))

    async def suggest(self) -> None:
        why = f"The learned schema shows how to get from a query to {GET_DOC}."
        self.step("A workflow is suggested and run", why)
        have = {"query": "refunds for cancelled orders"}
        found = (await self.gateway.suggest_workflow(want=GET_DOC, have=have, limit=1))["suggestions"]
        tools = [one["tools"] for one in found]
        _expect(tools == [[SEARCH_DOCS, GET_DOC]], "search_docs, then get_doc", tools)
        execution = await self.gateway.execute(found[0]["program"])
        _expect(execution.ok, "the suggested program to finish", execution.text)
        self.code(found[0]["program"])
        self.panel(one_line(execution.output, 300))
