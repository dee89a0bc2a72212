"""`halflap lint`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Exit, Option

from halflap.cli.command import Invocation, command
from halflap.cli.options import exclusive, read_input
from halflap.cli.output import note, one_line, working
from halflap.core.errors import UsageError
from halflap.core.text import join, plural
from halflap.gateway import NO_SERVER_ADVICE
from halflap.lint import drafts_of, read_definitions
from halflap.lint import lint as apply

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.lint import Draft, Finding, LintServer, Report, ServerReport

_STDIN_NAME = "tools"
"""The server's name if it is read from stdin."""
_MAX_SHOWN = 3
"""Findings shown per rule without --all, and best fixes."""
_MAX_TEXT = 600
_MIN_GAIN = 0.05
"""Smaller gains would be shown as 0."""


@command()
async def lint(
    invocation: Invocation,
    servers: Annotated[list[str] | None, Argument(help="Only these servers.")] = None,
    file: Annotated[
        Path | None, Option("--file", "-f", help="Lint definitions in a file, or - for stdin.")
    ] = None,
    suggest: Annotated[
        bool, Option("--suggest", help="Draft missing output schemas from recorded results.")
    ] = False,
    everything: Annotated[bool, Option("--all", "-a", help="Show every finding with its fix.")] = False,
    fail_on: Annotated[
        Literal["error", "warning", "info", "never"] | None, Option(help="Override lint.fail_on.")
    ] = None,
) -> None:
    """Find what makes the tools of MCP servers hard to compose.

    The exit code is 1 if there is an error (see --fail-on) or a server can't be reached.
    """
    exclusive(file=file, suggest=suggest)
    if file is not None and servers:
        raise UsageError("Use server names or --file, not both.")
    config = invocation.config()
    unavailable: Mapping[str, str] = {}
    if file is not None:
        report, linted = _lint_file(file, config)
    else:
        async with invocation.gateway(config) as gateway:
            with working("Listing tools"):
                live = await gateway.lint(servers or [])
        report, linted, unavailable = live.report, live.servers, live.unavailable
    if not unavailable and not any(one.tools for one in report.servers):
        names = join([one_line(one.server, 80) for one in report.servers], limit=20)
        why = f"There are no tools in {names}." if names else f"No server is configured. {NO_SERVER_ADVICE}"
        raise UsageError(f"{why}\nOr lint a file of definitions with --file.")
    if suggest:
        drafts = [draft for server in linted for draft in drafts_of(server)]
        show_drafts(invocation, drafts)
    else:
        lines = (line for one in report.servers for line in _lines(one, everything=everything))
        invocation.show({**report.to_json(), "unavailable": dict(unavailable)}, lines)
    for name, reason in sorted(unavailable.items()):
        note(f"Server {name!r} is not available: {reason}")
    if unavailable or (not suggest and report.fails(fail_on or config.lint.fail_on)):
        raise Exit(1)


def _lint_file(file: Path, config: Config) -> tuple[Report, Sequence[LintServer]]:
    source = "stdin" if str(file) == "-" else str(file)
    try:
        text = read_input(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not UTF-8 (byte {error.start + 1}).") from None
    read = read_definitions(text, _STDIN_NAME if str(file) == "-" else file.stem, source)
    return apply(read, config.lint), read


def _lines(server: ServerReport, *, everything: bool) -> Iterator[str]:
    counts = [
        f"{number} info" if severity == "info" else plural(number, severity)
        for severity, number in server.counts().items()
        if number
    ]
    counts += [f"{len(server.ignored)} ignored"] if server.ignored else []
    score = "no tools" if server.score is None else f"{server.score:g} of 100"
    found = ", ".join(counts) or "nothing found"
    yield f"{one_line(server.server, 80)}  {score}  ({plural(len(server.tools), 'tool')}; {found})"
    for rule in dict.fromkeys(one.rule for one in server.findings):
        findings = [one for one in server.findings if one.rule == rule]
        yield f"  {findings[0].severity} {rule} ({len(findings)})"
        shown = findings if everything else findings[:_MAX_SHOWN]
        for one in shown:
            yield f"    - {_text(one)}"
            if everything or one is shown[0]:
                yield f"      → {one_line(one.fix, _MAX_TEXT)}"
        if len(findings) > len(shown):
            yield f"    … {len(findings) - len(shown)} more; --all shows them."
    best = [one for one in server.fixes[:_MAX_SHOWN] if one.gain >= _MIN_GAIN]
    if best:
        gains = [f"{one.rule} in {plural(one.tools, 'tool')} up to +{one.gain:.1f}" for one in best]
        yield f"  Best fixes: {', '.join(gains)}."
    for gap in server.not_judged:
        which = f"{gap.tools} of {plural(gap.of, 'tool')}"
        yield f"  Not checked by {', '.join(gap.rules)}: {which}. {gap.why} {gap.do}"
    for one in server.ignored if everything else ():
        yield f"  ignored by the {one.ignored_by}: {one.rule}: {_text(one)} Reason: {one_line(one.reason)}"


def _text(one: Finding) -> str:
    where = f" ({one_line(one.path, 120)})" if one.path and one.path not in one.message else ""
    return f"{one_line(one.message, _MAX_TEXT)}{where}"


def show_drafts(invocation: Invocation, drafts: Sequence[Draft]) -> None:
    lines = [line for one in drafts if one.schema is not None for line in _draft(one)]
    if lines or invocation.as_json:
        invocation.show({"suggestions": [one.to_json() for one in drafts]}, lines)
    for one in drafts if not invocation.as_json else ():
        if one.schema is None:
            note(f"{one.tool}: {one.reason}")
    if not drafts:
        note("Every tool declares an output schema.")


def _draft(one: Draft) -> Iterator[str]:
    yield f"# {one.tool}: from {plural(one.observations, 'result')}, confidence {one.confidence:.2f}"
    if one.is_wrapped:
        yield "# MCP requires an object: return the value under the key `result`."
    yield from ("", one.python, "")
    yield from (json.dumps({"outputSchema": one.schema}, indent=2, ensure_ascii=False), "")
