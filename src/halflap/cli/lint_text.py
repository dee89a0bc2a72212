"""What the linter found, for people: scores, findings by rule, the best fixes, and drafts of schemas."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from halflap.cli.output import harmless, note, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.text import Text

    from halflap.lint import Draft, Finding, Report, ServerReport

__all__ = ["show_drafts", "show_report"]

_MOST = 3
"""Findings shown per rule without `--all`."""
_MOST_FIXES = 3
_LEAST_GAIN = 0.05
"""Less would be shown as nothing."""
_BAR = 20
_NARROW = 60
_LONGEST = 600
_STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}
_GOOD, _FAIR = 80, 50


def show_report(report: Report, console: Console, *, everything: bool, ignored: bool) -> None:
    """Write the report."""
    for number, server in enumerate(report.servers):
        if number:
            console.print()
        _server(server, console, everything=everything)
        if ignored:
            _ignored(server, console)


def _server(server: ServerReport, console: Console, *, everything: bool) -> None:
    from rich.text import Text

    name, count = one_line(server.server, 80), len(server.tools)
    if server.score is None:
        console.print(Text(f"{name}: no tools."))
        return
    style = "green" if server.score >= _GOOD else "yellow" if server.score >= _FAIR else "red"
    filled = round(server.score / 100 * _BAR)
    bar = Text("█" * filled, style).append("░" * (_BAR - filled), "dim")
    counts = [_count(number, severity) for severity, number in server.counts().items() if number]
    counts += [f"{len(server.ignored)} ignored"] if server.ignored else []
    said = f"{_count(count, 'tool')}; {', '.join(counts) or 'nothing found'}"
    if console.width < _NARROW:
        _line(console, Text(name, "bold"), 0)
        _line(console, Text(f"{server.score:g} of 100; {said}"), 0)
    else:
        head = Text.assemble(
            (name, "bold"), "  ", bar, "  ", (f"{server.score:g}", style), f" of 100   {said}"
        )
        _line(console, head, 0)
    for rule in dict.fromkeys(one.rule for one in server.findings):
        _rule([one for one in server.findings if one.rule == rule], console, everything=everything)
    _fixes(server, console)
    for one in server.not_judged:
        which = "No tool" if one.tools == one.of else f"{one.tools} of {one.of} tools"
        verb = "could be judged" if one.tools == one.of else "could not be judged"
        _line(console, Text(f"{which} {verb} by {', '.join(one.rules)}: {one.why} {one.do}", "dim"), 2)


def _rule(found: Sequence[Finding], console: Console, *, everything: bool) -> None:
    from rich.text import Text

    first = found[0]
    times = f" ×{len(found)}" if len(found) > 1 else ""  # noqa: RUF001 -- it is meant
    _line(
        console, Text.assemble((first.severity, _STYLES[first.severity]), " ", (first.rule, "bold"), times), 2
    )
    shown = found if everything else found[:_MOST]
    for one in shown:
        _line(console, Text(f"- {_said(one)}"), 4)
        if everything or one is first:
            _line(console, Text(f"→ {one_line(one.fix, _LONGEST)}", "dim"), 6)
    if len(found) > len(shown):
        tools = _names([one.original_name or one.tool for one in found[len(shown) :]])
        _line(console, Text(f"… and {len(found) - len(shown)} more, in {tools}; --all shows them.", "dim"), 4)


def _said(one: Finding) -> str:
    where = f" ({one_line(one.path, 120)})" if one.path and one.path not in one.message else ""
    return f"{one_line(one.message, _LONGEST)}{where}"


def _names(tools: Sequence[str]) -> str:
    listed = [one_line(name, 80) for name in sorted(set(tools))]
    return ", ".join(listed[:_MOST]) + (
        f" and {_count(len(listed) - _MOST, 'other tool')}" if len(listed) > _MOST else ""
    )


def _fixes(server: ServerReport, console: Console) -> None:
    from rich.text import Text

    best = [one for one in server.fixes[:_MOST_FIXES] if one.gain >= _LEAST_GAIN]
    if best:
        told = ", ".join(f"{one.rule} in {_count(one.tools, 'tool')} up to +{one.gain:.1f}" for one in best)
        _line(console, Text(f"Best fixes: {told}.", "green"), 2)


def _ignored(server: ServerReport, console: Console) -> None:
    from rich.text import Text

    for one in server.ignored:
        by = "the author" if one.ignored_by == "author" else "the configuration"
        said = f"ignored by {by}: {one.rule}: {_said(one)} Reason: {one_line(one.reason)}"
        _line(console, Text(said, "dim"), 2)


def _line(console: Console, text: Text, indent: int) -> None:
    """Write a text, wrapped within its indent; what is longer than a line all the same goes on in the next."""
    before = " " * min(indent, console.width // 8)
    for line in text.wrap(console, max(8, console.width - len(before)), overflow="fold"):
        line.rstrip()
        console.print(before, line, sep="", soft_wrap=True)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show_drafts(drafts: Sequence[Draft]) -> None:
    """Write the drafts, each to be pasted as it is; why there is none goes beside the data."""
    written = [line for one in drafts if one.schema is not None for line in _draft(one)]
    if written:
        sys.stdout.write(harmless("\n".join(written)) + "\n")
        sys.stdout.flush()
    for one in drafts:
        if one.schema is None:
            note(f"{one.tool}: {one.reason}")
    if not drafts:
        note("Every tool declares what it returns.")


def _draft(one: Draft) -> Iterator[str]:
    results = _count(one.observations, "result")
    yield f"# {one.tool}: from {results}, confidence {one.confidence:.2f}"
    if one.is_wrapped:
        yield "# Its results are not objects; return them under `result`, because MCP requires an object."
    yield ""
    yield one.python
    yield ""
    yield json.dumps({"outputSchema": one.schema}, indent=2, ensure_ascii=False)
    yield ""
