"""The page of `halflap doctor`: what is wrong and what to do, then how all is; for any width, and for pipes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from halflap.cli.learned import drift_line
from halflap.cli.output import data_console, one_line
from halflap.cli.wrapping import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

__all__ = ["show"]

_NARROW = 64
"""In a terminal of fewer columns labels stand above what they label, and servers have two lines in place of a table."""
_USUAL = 80
_WIDE = 100
_BEYOND = ("Sign-in", "Protocol")
"""What a table of fewer columns than that leaves out, and says so; sign-in only where no server has any."""
_LABEL = 11
_BAR = 28
"""So many blocks are the whole: they fit beside a label, or below one in 40 columns."""
_LONGEST = 1000
_MOST_DRIFT = 5
_SHARES = (("declared", "green", "█"), ("learned", "cyan", "▓"), ("unknown", "dim", "░"))
_PLAIN = str.maketrans("█▓░✓✗→·│…", "#=.+x>,|~")
_UNITS = ("bytes", "KB", "MB", "GB")
_KILO = 1000


def show(examined: dict[str, Any], *, log: bool) -> None:
    """Print it."""
    page = _Page(data_console(whole=True))
    page.line(examined["summary"], style=f"bold {_mood(examined)}")
    where = ", ".join(examined["configuration"]) or "no configuration found"
    page.line(f"Halflap {examined['version']}, Python {examined['python']}, {where}", style="dim")
    for finding in examined["findings"]:
        page.finding(finding)
    if examined["servers"]:
        page.gap()
        page.servers(examined["servers"])
    page.gap()
    for label, lines in _facts(examined):
        page.fact(label, lines)
    if log:
        _show_logs(page, examined["servers"])


def _mood(examined: dict[str, Any]) -> str:
    return "green" if examined["healthy"] else "yellow" if examined["interrupted"] else "red"


class _Page:
    """Lines on a console: wrapped within a terminal, whole in a pipe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._wraps = console.is_terminal
        self._plain = console.options.ascii_only
        self._narrow = self._wraps and console.width < _NARROW
        self._wide = not self._wraps or console.width >= _WIDE
        self._usual = not self._wraps or console.width >= _USUAL

    def gap(self) -> None:
        self._console.print()

    def line(self, text: str | Text, *, style: str = "", indent: int = 0, first: Text | None = None) -> None:
        """Print a text, the lines after the first one as far in as it; `first` stands before it."""
        whole = self._told(text, style)
        head = Text(" " * indent) if first is None else first
        say(self._console, whole, head)

    def _told(self, text: str | Text, style: str = "") -> Text:
        whole = text.copy() if isinstance(text, Text) else Text(one_line(text, _LONGEST), style=style)
        if self._plain:
            whole.plain = whole.plain.translate(_PLAIN)
        return whole

    def finding(self, finding: dict[str, Any]) -> None:
        self.gap()
        mark, style = ("✗", "red") if finding["severity"] == "problem" else ("!", "yellow")
        about = f"{one_line(finding['server'])}: " if finding["server"] else ""
        what = one_line(finding["what"], _LONGEST)
        told = Text.assemble((about, "bold"), what, (f" [{finding['code']}]", "dim"))
        self.line(told, first=self._told(Text(f"{mark} ", style=style)))
        self.line(Text(one_line(finding["todo"], _LONGEST)), first=self._told(Text("  → ", style="dim")))

    def fact(self, label: str, lines: Sequence[Text]) -> None:
        if self._narrow:
            self.line(label, style="bold")
            for line in lines:
                self.line(line, indent=2)
            return
        first = Text(label.ljust(_LABEL), style="bold")
        for line in lines:
            self.line(line, first=first)
            first = Text(" " * _LABEL)

    def servers(self, rows: list[dict[str, Any]]) -> None:
        """Print how each server is, those that need something first."""
        rows = sorted(rows, key=lambda row: (row["healthy"], row["state"] == "disabled"))
        if self._narrow:
            self._list(rows)
        else:
            self._table(rows)

    def _list(self, rows: list[dict[str, Any]]) -> None:
        widest = max(len(one_line(row["name"])) for row in rows)
        for row in rows:
            cells = _cells(row)
            told = Text.assemble(cells["Server"].plain.ljust(widest), "  ", cells["State"])
            self.line(self._told(told), first=self._told(Text.assemble(cells[""], " ")))
            parts = [_counted(row["tools"], "tool")] if row["tools"] or row["state"] == "ready" else []
            parts += [
                words.format(cells[head].plain)
                for head, words in _IN_WORDS
                if cells[head].plain and (row["tools"] or head != "Tokens")
            ]
            if parts:
                self.line(self._told(Text(" · ".join(parts), style="dim")), indent=2)

    def _table(self, rows: list[dict[str, Any]]) -> None:
        table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
        table.add_column("", no_wrap=True)
        table.add_column("Server", overflow="fold", min_width=6)
        table.add_column("State", no_wrap=True)
        table.add_column("Tools", justify="right", no_wrap=True)
        table.add_column("Output known", justify="right", no_wrap=True)
        table.add_column("Start", justify="right", no_wrap=True)
        if any(row.get("tokens") is not None for row in rows):
            table.add_column("Tokens", justify="right", no_wrap=True)
        if self._wide or (self._usual and any(row["signIn"] for row in rows)):
            table.add_column("Sign-in", no_wrap=True)
        if self._wide:
            table.add_column("Protocol", no_wrap=True)
        heads = [str(column.header) for column in table.columns]
        every = [_cells(row) for row in rows]
        for cells in every:
            table.add_row(*(self._told(cells[head]) for head in heads))
        self._console.print(table)
        lacking = [
            head for head in _BEYOND if head not in heads and any(cells[head].plain for cells in every)
        ]
        if lacking:
            words = f"Not shown for want of width: {' and '.join(lacking).lower()}. --json has all."
            self.line(words, style="dim", indent=3)


_IN_WORDS = (
    ("Output known", "output of {} known"),
    ("Start", "ready in {}"),
    ("Tokens", "{} tokens"),
    ("Sign-in", "sign-in {}"),
    ("Protocol", "protocol {}"),
)
"""What a narrow terminal says below a server, in place of columns."""


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _all(count: int, noun: str) -> str:
    return f"all {_counted(count, noun)}" if count > 1 else _counted(count, noun)


def _cells(row: dict[str, Any]) -> dict[str, Text]:
    healthy, off = row["healthy"], row["state"] == "disabled"
    mark, style = ("-", "dim") if off else ("✓", "green") if healthy else ("✗", "red")
    known = row["tools"] - row["outputs"]["unknown"]
    tokens = row.get("tokens")
    return {
        "": Text(mark, style=style),
        "Server": Text(one_line(row["name"])),
        "State": Text(row["state"].replace("needs-", "needs "), style=style),
        "Tools": Text(str(row["tools"])),
        "Output known": Text(f"{known} of {row['tools']}" if row["tools"] else ""),
        "Start": Text("" if row["startSeconds"] is None else f"{row['startSeconds']:.2f} s"),
        "Tokens": Text("" if tokens is None else f"{tokens:,}"),
        "Sign-in": Text((row["signIn"] or "").replace("-", " ")),
        "Protocol": Text(one_line(row["protocolVersion"] or "")),
    }


def _facts(examined: dict[str, Any]) -> Iterator[tuple[str, list[Text]]]:
    total = examined["tools"]
    one = "callable" if examined["callable"] else "not callable"
    yield "Tools", [Text(f"1, {one}" if total == 1 else f"{total}, {examined['callable']} of them callable")]
    if total:
        shares = [(examined["outputs"][word], style, block) for word, style, block in _SHARES]
        told = [f"{examined['outputs'][word]} {word}" for word, _, _ in _SHARES]
        yield "Outputs", [_bar(shares), Text(f"What they return is {' · '.join(told)}")]
    if examined["tokens"] is not None and total:
        yield "Tokens", _token_lines(examined["tokens"])
    if examined["edges"] is not None and total:
        yield "Feeding", _edge_lines(examined["edges"])
    yield "Learning", [_learning_line(examined["learning"])]
    if examined["drift"]:
        yield "Drift", _drift_lines(examined)
    if examined["sandbox"] is not None:
        yield "Programs", [Text(line, style=style) for line, style in sandbox_lines(examined["sandbox"])]
    if examined["store"] is not None:
        yield "Store", _store_lines(examined["store"])
    missing = [part for part, why in examined["unfinished"].items() if why == "interrupted"]
    if missing:
        yield "Not seen", [Text(f"{', '.join(missing)}: it was interrupted before", style="yellow")]


def _bar(shares: Sequence[tuple[int, str, str]], whole: int | None = None) -> Text:
    """Draw shares of a whole. What there is at all has a block, however little it is."""
    counts = [count for count, _, _ in shares]
    total = max(sum(counts) if whole is None else whole, 1)
    blocks = [max(1, _BAR * count // total) if count else 0 for count in counts]
    if whole is None:
        # What rounding left over, or took too much, is the largest's.
        blocks[blocks.index(max(blocks))] += _BAR - sum(blocks)
    return Text.assemble(
        *((block * number, style) for number, (_, style, block) in zip(blocks, shares, strict=True))
    )


def _token_lines(tokens: dict[str, Any]) -> list[Text]:
    all_of_them, ours = tokens["definitions"], tokens["exposed"]
    if tokens["tokenizer"] is None:
        return [
            Text(f"not counted: {tokens['toCount']}"),
            Text(
                f"{_counted(all_of_them['characters'], 'character')} in {_all(all_of_them['tools'], 'definition')}, "
                f"{ours['characters']:,} in the {ours['tools']} that Halflap exposes in their place"
            ),
        ]
    most = max(all_of_them["tokens"], ours["tokens"], 1)
    return [
        _bar([(all_of_them["tokens"], "yellow", "█")], most),
        Text(f"{all_of_them['tokens']:,} for {_all(all_of_them['tools'], 'definition')}"),
        _bar([(ours["tokens"], "green", "█")], most),
        Text(
            f"{ours['tokens']:,} for the {_counted(ours['tools'], 'tool')} that Halflap exposes in their place"
        ),
        Text(f"counted with the tokenizer {tokens['tokenizer']}; other models count otherwise", style="dim"),
    ]


def _edge_lines(edges: dict[str, Any]) -> list[Text]:
    shares = [f"{count} {coverage}" for coverage, count in edges["coverage"].items()]
    kinds = [f"{kind} {sum(counts.values())}" for kind, counts in edges["evidence"].items()]
    lines = [Text(f"{_counted(edges['total'], 'edge')} of what feeds what ({', '.join(shares)})")]
    return [*lines, Text(f"by evidence: {', '.join(kinds)}")] if kinds else lines


def _learning_line(learning: dict[str, Any]) -> Text:
    if not learning["enabled"]:
        return Text("off, by `learning.enabled`")
    results = learning.get("results", 0)
    if not results:
        return Text("on; nothing was learned yet")
    looked = 1_000 * learning["look_seconds"] / results
    lag = learning["lag_seconds"] / results
    return Text(
        f"{_counted(round(results), 'result')}, {looked:.2f} ms each behind the calls, in the store {lag:.1f} s after the answer"
    )


def _drift_lines(examined: dict[str, Any]) -> list[Text]:
    drift = examined["drift"]
    lines = [
        Text(f"{one['tool']}: {one_line(drift_line(one), _LONGEST)}", style="yellow")
        for one in drift[:_MOST_DRIFT]
    ]
    more = len(drift) - _MOST_DRIFT
    return [*lines, Text(f"and {more} more: `halflap schema drift`")] if more > 0 else lines


def sandbox_lines(sandbox: dict[str, Any]) -> list[tuple[str, str]]:
    """Say where programs run, behind what, and what is missing there."""
    if sandbox["trouble"] is not None:
        return [(f"code execution is off: {sandbox['trouble']}", "yellow")]
    where = "the jail" if sandbox["name"] == "jail" else sandbox["name"]
    lines = [(f"run in {where}, behind {', '.join(sandbox['layers'])}", "")]
    lines += [(f"without {layer}: {why}", "yellow") for layer, why in sandbox["missing"].items()]
    lines += [(note, "yellow") for note in sandbox["notes"]]
    check = sandbox["check"]
    if check["trouble"] is not None:
        return [*lines, (f"not checked before they run: {check['trouble']}", "yellow")]
    lines.append((f"checked before they run by ty, behind {', '.join(check['layers'])}", ""))
    return lines + [
        (f"the check without {layer}: {why}", "yellow") for layer, why in check["missing"].items()
    ]


def _store_lines(store: dict[str, Any]) -> list[Text]:
    place = Text(one_line(store["place"], _LONGEST))
    if store["schemaVersion"] is None:
        return [place, Text("cannot be written", style="red")]
    kept = f"kept {store['keepDays']:g} days and {store['keepMegabytes']:g} MB at most"
    return [
        place,
        Text(
            f"{_size(store['bytes'])}, version {store['schemaVersion']}, {_counted(store['runs'], 'run')}, "
            f"{_counted(store['calls'], 'call')}, {_counted(store['learnedTools'], 'learned definition')}"
        ),
        Text(f"{'writable' if store['writable'] else 'not writable'}; traces: {store['record']}, {kept}"),
    ]


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < _KILO:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= _KILO
    return f"{count:.1f} {_UNITS[-1]}"


def _show_logs(page: _Page, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["log"]:
            page.gap()
            page.line(row["name"], style="bold")
            for line in row["log"]:
                page.line(line, style="dim", first=Text("  │ ", style="dim"))
