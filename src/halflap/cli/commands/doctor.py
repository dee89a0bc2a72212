"""`halflap doctor` and `halflap explain`."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option

import halflap
from halflap.cli.command import INTERRUPTED, Invocation, command, on_interrupt
from halflap.cli.output import (
    Table,
    data_console,
    describe_sign_in,
    drift_line,
    note,
    one_line,
    outline,
    print_json,
    print_lines,
    working,
)
from halflap.config import load_config
from halflap.core.environment import install_command
from halflap.core.errors import UsageError
from halflap.core.suggest import did_you_mean
from halflap.core.text import plural
from halflap.gateway import Gateway
from halflap.gateway.findings import rules

_MAX_TEXT = 1000
_TOKENIZER = "o200k_base"
_HEADING = re.compile(r"^### ([a-z0-9-]+)\n+(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]+)\]\([^)]+\)")
_PAGE_LINK = re.compile(r"\[([^\]]+)\]\((?:howto/|\.\./)?([a-z-]+)\.md[^)]*\)")


@command()
async def doctor(
    invocation: Invocation,
    servers: Annotated[list[str] | None, Argument(help="Only these servers.")] = None,
    log: Annotated[bool, Option("--log", help="Also show the end of each server's log.")] = False,
) -> None:
    """Check everything, and show what is wrong and how to fix it.

    Starts every server. The exit code is 1 if there is a problem; hints don't count.
    """
    if not invocation.verbose:
        # The report has everything that would be logged.
        logging.getLogger("halflap").setLevel(logging.CRITICAL)
    stop = asyncio.Event()
    async with Gateway.open(load_config(invocation.config_file)) as gateway:
        with on_interrupt(stop.set), working("Starting the servers") as update:

            def on_progress(waiting: Sequence[str], total: int) -> None:
                update(f"{total - len(waiting)} of {total} servers; waiting for {', '.join(waiting)}")

            examined = await gateway.examine(servers or [], on_progress=on_progress, stop=stop)
        examined["tokens"] = None
        if not stop.is_set():
            await asyncio.to_thread(_add_tokens, examined, gateway)
        # Printed before the servers stop, which may take a moment.
        if invocation.as_json:
            print_json(examined)
        else:
            _show(examined, log=log)
    if stop.is_set():
        raise Exit(INTERRUPTED)
    if not examined["healthy"]:
        raise Exit(1)


@cache
def _tokenizer() -> Any:
    if find_spec("splintr") is None:
        return None
    return import_module("splintr").Tokenizer.from_pretrained(_TOKENIZER)


def count_tokens(text: str) -> int | None:
    """Return the number of tokens in a text, or None without a tokenizer."""
    if (tokenizer := _tokenizer()) is None:
        return None
    # `encode` would interpret names of special tokens; lone surrogates can't be encoded.
    return len(tokenizer.encode_ordinary(text.encode(errors="replace").decode()))


def _add_tokens(examined: dict[str, Any], gateway: Gateway) -> None:
    """Count the tokens of all upstream definitions, and of Halflap's own tools."""
    from halflap.server import Front

    rows, by_server = examined["servers"], gateway.snapshot.by_server
    costs = [_cost(by_server.get(row["name"], ())) for row in rows]
    for row, cost in zip(rows, costs, strict=True):
        row["tokens"] = cost["tokens"]
    has_tokenizer = _tokenizer() is not None
    total = {key: sum(cost[key] or 0 for cost in costs) for key in ("tools", "characters", "tokens")}
    examined["tokens"] = {
        "tokenizer": _TOKENIZER if has_tokenizer else None,
        "definitions": total if has_tokenizer else {**total, "tokens": None},
        "exposed": _cost(Front(gateway).tools),
        "toCount": None if has_tokenizer else f"install a tokenizer: {install_command('tokens')}",
    }


def _cost(tools: Iterable[Any]) -> dict[str, Any]:
    shown = (
        {"name": one.name, "description": one.description, "input_schema": one.input_schema} for one in tools
    )
    texts = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in shown]
    tokens = None if _tokenizer() is None else sum(count_tokens(text) or 0 for text in texts)
    return {"tools": len(texts), "characters": sum(map(len, texts)), "tokens": tokens}


def _show(examined: Mapping[str, Any], *, log: bool) -> None:
    from rich.text import Text

    console = data_console()
    mood = "green" if examined["healthy"] else "yellow" if examined["interrupted"] else "red"
    console.print(Text(examined["summary"], style=f"bold {mood}"))
    where = ", ".join(examined["configuration"]) or "no configuration found"
    console.print(Text(f"Halflap {examined['version']}, Python {examined['python']}, {where}", style="dim"))
    for one in examined["findings"]:
        mark, style = ("✗", "red") if one["severity"] == "problem" else ("!", "yellow")
        about = f"{one_line(one['server'])}: " if one["server"] else ""
        what = f"{one_line(one['what'], _MAX_TEXT)} "
        console.print()
        console.print(Text.assemble((f"{mark} ", style), (about, "bold"), what, (f"[{one['code']}]", "dim")))
        console.print(Text.assemble(("  → ", "dim"), one_line(one["todo"], _MAX_TEXT)))
    console.print()
    if examined["servers"]:
        rows = sorted(examined["servers"], key=lambda row: (row["healthy"], row["state"] == "disabled"))
        headings = ["server", "state", "tools", "output known", "start", "tokens"]
        # The last column is empty without a tokenizer.
        shown = len(headings) if any(row.get("tokens") for row in rows) else -1
        Table(headings[:shown], [_server_row(row)[:shown] for row in rows]).print()
        console.print()
    for line in outline(_facts(examined)):
        console.print(Text(line))
    for row in examined["servers"] if log else ():
        print_lines(outline({row["name"]: [one_line(line, _MAX_TEXT) for line in row["log"]]}))


def _state(row: Mapping[str, Any]) -> str:
    state = row["state"].replace("needs-", "needs ")
    if row["signIn"] == "accepted" and row["signedIn"]:
        return f"{state} (signed in: {'; '.join(describe_sign_in(one) for one in row['signedIn'])})"
    return f"{state} ({row['signIn'].replace('-', ' ')})" if row["signIn"] else state


def _server_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    known = row["tools"] - row["outputs"]["unknown"]
    return (
        one_line(row["name"]),
        _state(row),
        str(row["tools"]),
        f"{known} of {row['tools']}",
        "" if row["startSeconds"] is None else f"{row['startSeconds']:.2f} s",
        "" if row.get("tokens") is None else f"{row['tokens']:,}",
    )


def _facts(examined: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts besides the findings."""
    tokens, edges, learning = examined["tokens"], examined["edges"], examined["learning"]
    sandbox, store = examined["sandbox"], examined["store"]
    counted = tokens and tokens["definitions"]["tokens"]
    cost = (
        counted and f"{counted:,} for all definitions, {tokens['exposed']['tokens']:,} for what clients see"
    )
    learned = plural(round(learning.get("results", 0)), "result")
    return {
        "tools": f"{examined['tools']}, {examined['callable']} callable",
        "output schemas": examined["outputs"],
        "tokens": cost or (tokens and tokens["toCount"]),
        "links": f"{edges['total']:,} between tools" if edges else "too many tools to count them",
        "learned from": learned if learning["enabled"] else "nothing (learning.enabled is off)",
        "drift": [f"{one['tool']}: {drift_line(one)}" for one in examined["drift"]],
        "sandbox": sandbox
        and (sandbox["trouble"] or [sandbox["name"], *sandbox["layers"], *sandbox["notes"]]),
        "store": store
        and f"{store['place']}, {plural(store['runs'] or 0, 'run')}, {plural(store['calls'] or 0, 'call')}",
        "skipped": examined["unfinished"],
    }


@command(shared=("json",))
def explain(
    invocation: Invocation,
    topic: Annotated[
        str | None, Argument(metavar="CODE | PAGE", help="A code such as usage, or a page such as learning.")
    ] = None,
) -> None:
    """Explain a code, or show a page of the documentation.

    Without an argument, lists the codes of errors and of doctor's findings.
    """
    texts = explanations()
    if topic is None:
        firsts = {one: _first_sentence(text) for one, text in texts.items()}
        data = [{"code": one, "meaning": first} for one, first in firsts.items()]
        invocation.show(data, Table(["code", "meaning"], list(firsts.items()), wrap=True))
        note(f"Pages: {', '.join(sorted(_pages()))}")
        return
    asked, pages = topic.strip("[]").lower(), _pages()
    page = asked.removesuffix(".md")
    if asked in texts:
        more = ["", f"There is also a page: halflap explain {asked}.md"] if asked in pages else []
        invocation.show({"code": asked, "text": texts[asked]}, [asked, "", _plain(texts[asked]), *more])
    elif page in pages:
        text = pages[page].read_text(encoding="utf-8")
        invocation.show({"page": page, "text": text}, [_plain(text)])
    else:
        near = did_you_mean(asked, {**texts, **pages}, otherwise="`halflap explain` lists them.")
        raise UsageError(f"There is no code or page {topic!r}. {near}")


def explanations() -> dict[str, str]:
    """Return the explanation of each code, in Markdown."""
    errors = files("halflap").joinpath("errors.md").read_text(encoding="utf-8")
    found = {match[1]: match[2].strip() for match in _HEADING.finditer(errors)}
    for code, rule in rules().items():
        cause = rule.cause[0].upper() + rule.cause[1:]
        found_by = f"**Found by** `halflap doctor`, as a {rule.severity}."
        found.setdefault(code, f"{cause}.\n\n{found_by}\n\n**Fix.** {rule.fix}")
    return found


def _pages() -> dict[str, Path]:
    """Return the pages of the documentation, which are inside the package or next to its source."""
    package = Path(halflap.__file__).parent
    folder = next((one for one in (package / "docs", package.parents[1] / "docs") if one.is_dir()), package)
    return {page.stem: page for pattern in ("*.md", "howto/*.md") for page in folder.glob(pattern)}


def _first_sentence(text: str) -> str:
    paragraph = " ".join(_plain(text).partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".") + "."


def _plain(text: str) -> str:
    """Return Markdown as plain text; a link to a page names the command that shows it."""
    text = _PAGE_LINK.sub(r"\1 (halflap explain \2)", text)
    return _LINK.sub(r"\1", text).replace("**", "")
