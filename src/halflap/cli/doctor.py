"""`halflap doctor`: start every server, and report what is wrong and what to do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import ConfigOption, JsonOption, VerboseOption
from halflap.cli.output import data_console, drift_line, one_line, plural, print_json, reported
from halflap.cli.progress import awaiting
from halflap.config import load_config
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from halflap.config import Config

__all__ = ["doctor"]

_INTERRUPTED = 130
_MAX_TEXT = 1000
_MAX_DRIFT = 5
_WIDE = 100
_USUAL = 80
"""Terminals narrower than these get fewer columns."""
_KILO = 1000


@reported
def doctor(
    servers: Annotated[
        list[str] | None, typer.Argument(help="Only these servers.", show_default=False)
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Show the last lines of each server's stderr.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Check everything: start each server, and show what is wrong and what to do, worst first.

    The exit code is 0 if all is well, 1 if there is a problem, 2 for wrong usage. Hints are not problems.
    """
    if not verbose:
        # The report has it all.
        logging.getLogger("halflap").setLevel(logging.CRITICAL)
    code = asyncio.run(_doctor(load_config(config), servers or [], log=log, as_json=as_json))
    if code:
        raise typer.Exit(code)


async def _doctor(config: Config, wanted: list[str], *, log: bool, as_json: bool) -> int:
    stop = asyncio.Event()
    with _interruptible(stop):
        async with Gateway.open(config) as gateway:
            with awaiting("Starting the servers") as progress:
                examined = await gateway.examine(wanted, on_progress=progress, stop=stop)
            examined["tokens"] = None
            if not stop.is_set():
                await asyncio.to_thread(_add_tokens, examined, gateway)
            # Printed before the servers stop, which may take a moment.
            if as_json:
                print_json(examined)
            else:
                _show(examined, log=log)
    if stop.is_set():
        return _INTERRUPTED
    return 0 if examined["healthy"] else 1


@contextlib.contextmanager
def _interruptible(stop: asyncio.Event) -> Iterator[None]:
    """Let the first Ctrl-C end the examination with what is known, and the next one end everything."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        stop.set()
        loop.remove_signal_handler(signal.SIGINT)

    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers.
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)


def _add_tokens(examined: dict[str, Any], gateway: Gateway) -> None:
    """Count what all definitions would cost a model, and what Halflap's own tools cost."""
    from halflap.cli.tokens import TO_COUNT, tokenizer_name
    from halflap.server import Front

    names = {row["name"] for row in examined["servers"]}
    costs = {
        server: _cost((tool.name, tool.description, tool.input_schema) for tool in tools)
        for server, tools in gateway.snapshot.by_server.items()
        if server in names
    }
    own = _cost((tool.name, tool.description, tool.input_schema) for tool in Front(gateway).tools)
    tokens = [cost["tokens"] for cost in costs.values()]
    tokenizer = tokenizer_name()
    examined["tokens"] = {
        "tokenizer": tokenizer,
        "definitions": {
            "tools": sum(cost["tools"] for cost in costs.values()),
            "characters": sum(cost["characters"] for cost in costs.values()),
            "tokens": None if None in tokens else sum(tokens),
        },
        "exposed": own,
        "toCount": None if tokenizer is not None else TO_COUNT,
    }
    for row in examined["servers"]:
        row["tokens"] = costs.get(row["name"], _cost(()))["tokens"]


def _cost(definitions: Iterable[tuple[str, str, Mapping[str, Any]]]) -> dict[str, Any]:
    from halflap.cli.tokens import count_tokens

    keys = ("name", "description", "input_schema")
    texts = [
        json.dumps(dict(zip(keys, one, strict=True)), ensure_ascii=False, separators=(",", ":"))
        for one in definitions
    ]
    tokens = [count_tokens(text) for text in texts]
    counted = [one for one in tokens if one is not None]
    return {
        "tools": len(texts),
        "characters": sum(map(len, texts)),
        "tokens": sum(counted) if len(counted) == len(texts) else None,
    }


def _show(examined: dict[str, Any], *, log: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    console = data_console()
    mood = "green" if examined["healthy"] else "yellow" if examined["interrupted"] else "red"
    console.print(Text(examined["summary"], style=f"bold {mood}"))
    where = ", ".join(examined["configuration"]) or "no configuration found"
    console.print(Text(f"Halflap {examined['version']}, Python {examined['python']}, {where}", style="dim"))
    for finding in examined["findings"]:
        mark, style = ("✗", "red") if finding["severity"] == "problem" else ("!", "yellow")
        about = f"{one_line(finding['server'])}: " if finding["server"] else ""
        what = f"{one_line(finding['what'], _MAX_TEXT)} "
        console.print()
        console.print(
            Text.assemble((f"{mark} ", style), (about, "bold"), what, (f"[{finding['code']}]", "dim"))
        )
        console.print(Text.assemble(("  → ", "dim"), one_line(finding["todo"], _MAX_TEXT)))
    console.print()
    if examined["servers"]:
        _print_servers(console, examined["servers"])
        console.print()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in _facts(examined):
        table.add_row(label, text)
    console.print(table)
    for row in examined["servers"] if log else ():
        if row["log"]:
            console.print(Text(f"\n{row['name']}", style="bold"))
            for line in row["log"]:
                console.print(Text(f"  │ {one_line(line, _MAX_TEXT)}", style="dim"))


def _print_servers(console: Console, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    heads = ["", "Server", "State", "Tools", "Output known", "Start", "Tokens", "Sign-in", "Protocol"]
    width = console.width if console.is_terminal else _WIDE
    shown = len(heads) if width >= _WIDE else len(heads) - 1 if width >= _USUAL else 4
    for head in heads[:shown]:
        is_number = head in {"Tools", "Output known", "Start", "Tokens"}
        table.add_column(
            head, justify="right" if is_number else "left", no_wrap=head != "Server", overflow="fold"
        )
    for row in sorted(rows, key=lambda row: (row["healthy"], row["state"] == "disabled")):
        is_off = row["state"] == "disabled"
        mark, style = ("-", "dim") if is_off else ("✓", "green") if row["healthy"] else ("✗", "red")
        known = row["tools"] - row["outputs"]["unknown"]
        cells = [
            Text(mark, style=style),
            Text(one_line(row["name"])),
            Text(row["state"].replace("needs-", "needs "), style=style),
            str(row["tools"]),
            f"{known} of {row['tools']}" if row["tools"] else "",
            "" if row["startSeconds"] is None else f"{row['startSeconds']:.2f} s",
            "" if row.get("tokens") is None else f"{row['tokens']:,}",
            (row["signIn"] or "").replace("-", " "),
            one_line(row["protocolVersion"] or ""),
        ]
        table.add_row(*cells[:shown])
    console.print(table)
    if shown < len(heads):
        what = "Protocol column" if shown == len(heads) - 1 else f"{len(heads) - shown} columns"
        console.print(Text(f"{what} hidden (narrow terminal)", style="dim"))


def _facts(examined: dict[str, Any]) -> Iterator[tuple[str, Text | str]]:
    total = examined["tools"]
    yield "Tools", f"{plural(total, 'tool')}, {examined['callable']} callable"
    if total:
        outputs = " · ".join(f"{count} {word}" for word, count in examined["outputs"].items())
        yield "Outputs", f"output schemas: {outputs}"
    if examined["tokens"] is not None and total:
        yield "Tokens", _token_text(examined["tokens"])
    if (edges := examined["edges"]) is not None and total:
        kinds = ", ".join(f"{kind} {sum(counts.values())}" for kind, counts in edges["evidence"].items())
        yield "Links", plural(edges["total"], "link") + " between tools" + (f" ({kinds})" if kinds else "")
    yield "Learning", _learning_text(examined["learning"])
    drift = examined["drift"]
    for one in drift[:_MAX_DRIFT]:
        yield "Drift", f"{one['tool']}: {one_line(drift_line(one), _MAX_TEXT)}"
    if len(drift) > _MAX_DRIFT:
        yield "", f"{len(drift) - _MAX_DRIFT} more: halflap schema drift"
    if examined["sandbox"] is not None:
        yield "Programs", "\n".join(_sandbox_lines(examined["sandbox"]))
    if examined["store"] is not None:
        yield "Store", _store_text(examined["store"])
    missing = [part for part, why in examined["unfinished"].items() if why == "interrupted"]
    if missing:
        yield "Skipped", f"{', '.join(missing)}: interrupted"


def _token_text(tokens: Mapping[str, Any]) -> str:
    everything, own = tokens["definitions"], tokens["exposed"]
    if tokens["tokenizer"] is None:
        return f"not counted: {tokens['toCount']}"
    return (
        f"{everything['tokens']:,} for {plural(everything['tools'], 'definition')}; {own['tokens']:,} for the "
        f"{plural(own['tools'], 'tool')} that clients see instead ({tokens['tokenizer']})"
    )


def _learning_text(learning: Mapping[str, Any]) -> str:
    if not learning["enabled"]:
        return "off (learning.enabled)"
    results = learning.get("results", 0)
    if not results:
        return "on; nothing learned yet"
    looked, lag = _KILO * learning["look_seconds"] / results, learning["lag_seconds"] / results
    return f"{plural(round(results), 'result')}, {looked:.2f} ms each in the background, stored after {lag:.1f} s"


def _sandbox_lines(sandbox: Mapping[str, Any]) -> list[str]:
    if sandbox["trouble"] is not None:
        return [f"code execution is off: {sandbox['trouble']}"]
    check = sandbox["check"]
    lines = [f"sandbox {sandbox['name']}: {', '.join(sandbox['layers'])}"]
    lines += [f"without {layer}: {why}" for layer, why in sandbox["missing"].items()]
    lines += sandbox["notes"]
    if check["trouble"] is not None:
        return [*lines, f"not checked before they run: {check['trouble']}"]
    lines.append(f"checked before they run by ty: {', '.join(check['layers'])}")
    return [*lines, *(f"the check without {layer}: {why}" for layer, why in check["missing"].items())]


def _store_text(store: Mapping[str, Any]) -> str:
    place = one_line(store["place"], _MAX_TEXT)
    if store["schemaVersion"] is None:
        return f"{place}\ncan't be written"
    counts = f"{plural(store['runs'], 'run')}, {plural(store['calls'], 'call')}"
    learned = plural(store["learnedTools"], "learned definition")
    kept = f"kept {store['keepDays']:g} days, at most {store['keepMegabytes']:g} MB"
    writable = "writable" if store["writable"] else "not writable"
    size = store["bytes"] / _KILO / _KILO
    return f"{place}\n{size:,.1f} MB, {counts}, {learned}\n{writable}; traces: {store['record']}, {kept}"
