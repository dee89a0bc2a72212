"""`halflap demo`."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from halflap.cli.output import JsonOption, data_console, one_line, print_json, reported, set_up_logging
from halflap.cli.tokens import count_tokens
from halflap.config import Config
from halflap.demo import demo_config
from halflap.errors import HalflapError, InvalidArgumentsError, SandboxError, ToolNotFoundError
from halflap.gateway import Gateway
from halflap.values import Result

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["demo"]

_FINANCIALS = "mcp__financial_data__query_financials"
_SEARCH = "mcp__doc_retrieval__search_docs"
_TOP_CUSTOMERS = "mcp__sales__sales_top_customers"
_MISSPELT = "mcp__sales__order_histry"
_PROGRAM = """\
import asyncio

top = (await mcp__sales__sales_top_customers(period="year", limit=5))["customers"]
histories = await asyncio.gather(
    *(mcp__sales__order_history(customer_id=one["customer_id"], limit=50) for one in top)
)
for customer, history in zip(top, histories):
    cancelled = [order for order in history["orders"] if order["status"] == "cancelled"]
    print(f"{customer['name']}: {len(history['orders'])} orders, {len(cancelled)} cancelled")
hits = await mcp__doc_retrieval__search_docs(query="refunds for cancelled orders", limit=3)
print("To read:", hits[0]["title"])
"""


class DemoError(HalflapError):
    """The demo did not show what it should have: something is broken."""

    code = "demo"


@reported
def demo(as_json: JsonOption = False) -> None:
    """Show the main job on three bundled servers, in a store of its own that is thrown away."""
    set_up_logging(verbose=False, tells_of_servers=True)
    with tempfile.TemporaryDirectory(prefix="halflap-demo-") as folder:
        config = replace(Config.from_mapping(demo_config()), data_dir=Path(folder))
        shown = asyncio.run(_demo(config, data_console(quiet=as_json)))
    if as_json:
        print_json(shown)


async def _demo(config: Config, console: Console) -> dict[str, Any]:
    async with Gateway.open(config) as gateway:
        shown = {
            "tools": await _connect(gateway, console),
            "search": await _search(gateway, console),
            "inspection": await _inspect(gateway, console),
            "financials": await _call_declared(gateway, console),
            "documents": await _call_undeclared(gateway, console),
            "refusal": await _be_refused(gateway, console),
            "program": await _run_program(gateway, console),
        }
    console.print(
        "\nNext: name your own servers in a file and run `halflap list --config FILE`.", style="bold"
    )
    return shown


async def _connect(gateway: Gateway, console: Console) -> list[str]:
    _step(console, "Connect to three servers at once")
    began = perf_counter()
    # However slow the machine: a demo shows all of them.
    await gateway.refresh()
    seconds = perf_counter() - began
    for report in await gateway.reports():
        status = report.status
        _expect(status.state == "ready", f"server {status.name!r} is {status.state}: {status.reason}")
        count = f"{report.tools} {'tool' if report.tools == 1 else 'tools'}"
        console.print(
            f"  {status.name:<15} {count}, {report.declared_output_schemas} with an output schema, "
            f"protocol {status.protocol_version}, started in {status.start_seconds or 0:.2f} s"
        )
    console.print(f"  All of them after {seconds:.2f} s.", style="dim")
    _step(console, "List the tools")
    tools = await gateway.tools()
    _expect(len(tools) >= 8, f"only {len(tools)} tools were listed")  # noqa: PLR2004 -- what the three offer
    for tool in tools:
        console.print(f"  {tool.name:<46} {one_line(tool.description, 60)}")
    return [tool.name for tool in tools]


async def _search(gateway: Gateway, console: Console) -> list[str]:
    _step(console, "Search: find a tool by what it does")
    hits = await gateway.search("top customers by revenue", limit=3)
    _expect(bool(hits) and hits[0].name == _TOP_CUSTOMERS, f"search found {[hit.name for hit in hits]}")
    for hit in hits:
        console.print(f"  {hit.score:.2f}  {hit.name}")
    return [hit.name for hit in hits]


async def _inspect(gateway: Gateway, console: Console) -> dict[str, Any]:
    _step(console, "Inspect: one that declares what it returns, one that does not, one that is not there")
    shown: dict[str, Any] = {}
    for name, declared in ((_FINANCIALS, True), (_SEARCH, False)):
        shown[name] = await gateway.inspect(name)
        _expect(
            (shown[name]["outputSchema"] is not None) is declared, f"{name} is described as {shown[name]}"
        )
        console.print(f"  {(await gateway.get_schema(name)).format_compact()}")
        if "note" in shown[name]:
            console.print(f"    {shown[name]['note']}", style="dim")
    try:
        await gateway.inspect(_MISSPELT)
    except ToolNotFoundError as error:
        shown[_MISSPELT] = str(error)
        for line in str(error).splitlines():
            console.print(f"  {one_line(line, 140)}")
    else:
        raise DemoError("A tool that is not there was found.")
    return shown


async def _call_declared(gateway: Gateway, console: Console) -> list[Any]:
    _step(console, "Call a tool that declares what it returns")
    result = await gateway.call(_FINANCIALS, ticker="ALDR", statement="income", limit=2)
    rows = result.structured_content
    _expect(isinstance(rows, list) and len(rows) == 2, f"{_FINANCIALS} returned {rows!r}")  # noqa: PLR2004 -- the limit
    for row in rows:
        console.print(f"  {row['date']}: revenue {row['revenue']:,}, net income {row['netIncome']:,}")
    return list(rows)


async def _call_undeclared(gateway: Gateway, console: Console) -> list[Any]:
    _step(console, "Call one that does not: it has to be found out")
    result = await gateway.call(_SEARCH, query="travel expenses", limit=2)
    found = json.loads(result.text)
    _expect(isinstance(found, list) and bool(found), f"{_SEARCH} returned {result.text!r}")
    console.print(f"  keys of the first hit: {', '.join(found[0])}")
    console.print(f"  {found[0]['doc_id']}: {found[0]['title']}")
    return list(found)


async def _be_refused(gateway: Gateway, console: Console) -> str:
    _step(console, "Make a mistake: nothing is sent, and the message says what is right")
    try:
        await gateway.call(_FINANCIALS, ticker="ALDR", statement="profits", limit="two")
    except InvalidArgumentsError as error:
        for line in str(error).splitlines():
            console.print(f"  {line}")
        return str(error)
    raise DemoError("A wrong call was let through.")


async def _run_program(gateway: Gateway, console: Console) -> dict[str, Any]:
    _step(console, "Run a program over two servers: only what it prints comes back")
    for line in _PROGRAM.splitlines():
        console.print(f"  │ {line}", style="dim")
    try:
        execution = await gateway.execute(_PROGRAM)
    except SandboxError as error:
        console.print(f"  {error}", style="yellow")
        return {"off": str(error)}
    _expect(execution.ok, f"the program failed: {execution.text}")
    for line in execution.text.splitlines():
        console.print(f"  {line}")
    _, calls = await gateway.run(execution.run)
    # Of each result, what a client would have put before the model: its text, not the structured copy as well.
    results = "\n".join(Result.from_wire(json.loads(call.result)).text for call in calls if call.result)
    console.print(f"  {_kept_out(results, execution.text)}", style="bold")
    console.print(
        f"  {len(execution.calls)} calls in {execution.duration_ms:.0f} ms, in the sandbox {execution.sandbox!r}",
        style="dim",
    )
    return {
        "text": execution.text,
        "calls": len(execution.calls),
        "kept_out": _kept_out(results, execution.text),
    }


def _kept_out(results: str, text: str) -> str:
    """Say how much of the results stayed out of the model's context: counted, not guessed."""
    came, stayed = count_tokens(text), count_tokens(results)
    if came is None or stayed is None:
        return (
            f"{len(results.encode()):,} bytes of results stayed out of the model's context, {len(text.encode()):,} "
            "bytes came back. (`pip install 'halflap[semantic]'` brings a tokenizer that counts tokens.)"
        )
    _expect(stayed > came, f"only {stayed} tokens stayed out")
    return f"{stayed:,} tokens of results stayed out of the model's context; {came:,} came back."


def _step(console: Console, title: str) -> None:
    console.print(f"\n▸ {title}", style="bold cyan")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise DemoError(f"The demo failed: {otherwise}.")
