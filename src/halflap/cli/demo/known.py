"""The first steps: the servers, the search, and what is known of tools that nobody has called yet."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from halflap.cli.demo import story
from halflap.cli.demo.step import Step, expect
from halflap.cli.output import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from halflap.gateway import Gateway

__all__ = ["Connected", "Inspected", "Searched", "Server", "bare", "make_ready"]


def bare(tool: str) -> str:
    """Give a tool's name without what says whose it is."""
    return tool.rpartition("__")[2]


async def make_ready(gateway: Gateway) -> None:
    """Start what runs and checks programs."""
    programs = await gateway.programs()
    await asyncio.gather(programs.ready(), programs.check_ready())


@dataclass(frozen=True)
class Server:
    """A server, as it reports."""

    name: str
    state: str
    reason: str | None
    tools: int
    declared: int
    seconds: float | None


@dataclass(frozen=True)
class Connected(Step):
    """The servers that were started."""

    scene = story.CONNECT
    servers: Sequence[Server]
    tools: Sequence[str]
    seconds: float

    @classmethod
    async def take(cls, gateway: Gateway) -> Connected:
        """Start all servers at once and wait for each of them; meanwhile, what runs and checks programs."""
        began = perf_counter()
        await asyncio.gather(gateway.refresh(), make_ready(gateway))
        seconds = perf_counter() - began
        reports = [(one.status, one) for one in await gateway.reports()]
        servers = [
            Server(
                status.name,
                status.state,
                status.reason,
                one.tools,
                one.declared_output_schemas,
                status.start_seconds,
            )
            for status, one in reports
        ]
        return cls(servers, [tool.name for tool in await gateway.tools()], seconds)

    def check(self) -> None:
        for one in self.servers:
            expect(
                one.state == "ready",
                f"server {one.name!r} to be ready",
                f"it is {one.state}: {one.reason or 'no reason is known'}",
            )
        counted = sum(one.tools for one in self.servers)
        expect(counted == len(self.tools), f"{counted} tools to be listed", f"{len(self.tools)}")
        for tool in (story.TOP_CUSTOMERS, story.ORDER_HISTORY, story.SEARCH_DOCS, story.GET_DOC):
            expect(tool in self.tools, f"{tool} among the tools", ", ".join(self.tools) or "none")

    def draw(self) -> Iterator[RenderableType]:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("Server", style="cyan")
        table.add_column("Tools", justify="right")
        table.add_column("say what they return", justify="right")
        table.add_column("started in", justify="right", style="dim")
        for one in self.servers:
            style = "green" if one.declared else "yellow"
            told = Text(f"{one.declared} of {one.tools}", style)
            table.add_row(one.name, str(one.tools), told, f"{one.seconds or 0:.1f} s")
        yield table
        yield Text(f"{len(self.tools)} tools, ready after {self.seconds:.1f} s.", "dim")

    def to_json(self) -> dict[str, Any]:
        return {
            "servers": [asdict(one) for one in self.servers],
            "tools": list(self.tools),
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Searched(Step):
    """What a few searches found, best first: names and scores."""

    scene = story.SEARCH
    found: Mapping[str, Sequence[tuple[str, float]]]

    @classmethod
    async def take(cls, gateway: Gateway) -> Searched:
        """Ask what the story asks."""
        found = {}
        for asked in story.SEARCHES:
            hits = await gateway.search(asked, limit=2)
            found[asked] = [(hit.name, hit.score) for hit in hits]
        return cls(found)

    def check(self) -> None:
        for asked, wanted in story.SEARCHES.items():
            names = [name for name, _ in self.found.get(asked, ())]
            expect(
                names[:1] == [wanted],
                f"{wanted} to be found first for {asked!r}",
                ", ".join(names) or "nothing",
            )

    def draw(self) -> Iterator[RenderableType]:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("Asked", overflow="fold")
        table.add_column("Found", overflow="fold")
        table.add_column("Fits", justify="right")
        for asked, hits in self.found.items():
            for at, (name, score) in enumerate(hits):
                table.add_row("" if at else f"“{asked}”", Text(name, "dim" if at else "cyan"), f"{score:.2f}")
        yield table

    def to_json(self) -> dict[str, Any]:
        return {
            "found": {
                asked: [{"name": name, "score": score} for name, score in hits]
                for asked, hits in self.found.items()
            }
        }


@dataclass(frozen=True)
class Inspected(Step):
    """What is known of a tool that declares what it returns, and of one that does not; and what that allows."""

    scene = story.INSPECT
    declared: Mapping[str, Any]
    undeclared: Mapping[str, Any]
    signatures: Mapping[str, str]
    edges: frozenset[tuple[str, str]]
    """What feeds what, with nothing learned."""
    missing: Sequence[str]
    """What the way to a whole document lacks."""

    @classmethod
    async def take(cls, gateway: Gateway) -> Inspected:
        """Look before anything has been called."""
        names = (story.TOP_CUSTOMERS, story.SEARCH_DOCS)
        declared, undeclared = [await gateway.inspect(name) for name in names]
        signatures = {name: (await gateway.get_schema(name)).format_compact() for name in names}
        graph = await gateway.graph()
        edges = frozenset((edge.source, edge.target) for edge in graph.edges())
        way = await gateway.suggest_workflow(want=story.GET_DOC, have={"query": story.QUESTION})
        missing = [one["parameter"] for best in way["suggestions"][:1] for one in best["missing"]]
        return cls(declared, undeclared, signatures, edges, missing)

    def check(self) -> None:
        expect(
            self.declared["outputSchema"] is not None,
            f"{story.TOP_CUSTOMERS} to declare what it returns",
            "it declares nothing",
        )
        known = [key for key in ("outputSchema", "observedSchema") if self.undeclared.get(key) is not None]
        expect(
            not known, f"nothing to be known of what {story.SEARCH_DOCS} returns", f"{', '.join(known)} is"
        )
        fed = sorted(target for source, target in self.edges if source == story.SEARCH_DOCS)
        expect(not fed, f"nothing to be known that {story.SEARCH_DOCS} feeds", ", ".join(fed))
        expect(
            list(self.missing) == [story.RIGHT_KEY],
            f"the way to a document to lack its {story.RIGHT_KEY}",
            f"it lacks {', '.join(self.missing) or 'nothing'}",
        )

    def draw(self) -> Iterator[RenderableType]:
        for name, style, mark in ((story.TOP_CUSTOMERS, "green", "✓"), (story.SEARCH_DOCS, "yellow", "?")):
            takes, _, returns = self.signatures[name].partition(" -> ")
            yield Text.assemble((f"{mark} ", style), (takes, "cyan"))
            yield Text.assemble(
                ("  returns ", "dim"), (one_line(returns, 300), "") if returns else ("… nobody knows", style)
            )
        yield Text(
            f"So no way leads from a question to a whole document: {bare(story.GET_DOC)} takes a "
            f"{', '.join(self.missing)}, and nobody knows who returns one.",
            "yellow",
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "declared": dict(self.declared),
            "undeclared": dict(self.undeclared),
            "edges": len(self.edges),
            "missing": list(self.missing),
        }
