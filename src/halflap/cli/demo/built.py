"""The step with a server that is written with the contract kit, beside one that declares nothing."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from halflap.cli.demo import story
from halflap.cli.demo.drawing import feeding, workflow
from halflap.cli.demo.known import bare, make_ready
from halflap.cli.demo.programs import Made, recorded
from halflap.cli.demo.step import Step, expect
from halflap.cli.output import one_line
from halflap.demo import CONTRACT_SERVER, contract_config
from halflap.graph.edge import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from halflap.gateway import Gateway
    from halflap.graph.edge import Edge, Ports
    from halflap.lint import ServerReport
    from halflap.sandbox import Execution

__all__ = ["Built"]

_UNDECLARED = "doc_retrieval"


@dataclass(frozen=True)
class Built(Step):
    """What is known of such a server before any call, and a workflow over it that runs."""

    scene = story.CONTRACT
    reports: Mapping[str, ServerReport]
    """What the linter says of it, and of the server that declares nothing."""
    unavailable: Mapping[str, str]
    calls_before: int
    """So many calls had been made when the following was asked."""
    returns: Mapping[str, str]
    """What each of its tools returns; empty where that is not known."""
    edges: Sequence[Edge]
    tools: Mapping[str, Ports]
    suggestion: Mapping[str, Any] | None
    execution: Execution | None
    calls: Sequence[Made]

    @classmethod
    async def take(cls, gateway: Gateway) -> Built:
        """Put the server behind a gateway of its own, so that nothing of what was shown before helps it."""
        from halflap.config import Config  # noqa: PLC0415 -- much is loaded with these
        from halflap.gateway import Gateway  # noqa: PLC0415 -- as above

        folder = gateway.config.data_dir / CONTRACT_SERVER
        config = replace(Config.from_mapping(contract_config()), data_dir=folder)
        async with Gateway.open(config) as own:
            linted, other, _ = await asyncio.gather(
                own.lint([CONTRACT_SERVER]), gateway.lint([_UNDECLARED]), make_ready(own)
            )
            tools = [tool.name for tool in await own.tools()]
            returns = {
                name: (await own.get_schema(name)).format_compact().partition(" -> ")[2] for name in tools
            }
            graph = await own.graph()
            edges = await asyncio.to_thread(lambda: list(graph.edges()))
            before = len(await own.recent_calls())
            way = await own.suggest_workflow(
                want=story.KIT_CONTACTS, have={"stage": story.KIT_STAGE}, limit=1
            )
            best = next(iter(way["suggestions"]), None)
            execution = None if best is None else await own.execute(best["program"])
            return cls(
                reports={one.server: one for found in (other, linted) for one in found.report.servers},
                unavailable={**other.unavailable, **linted.unavailable},
                calls_before=before,
                returns=returns,
                edges=edges,
                tools=dict(graph.tools),
                suggestion=best,
                execution=execution,
                calls=[] if execution is None else await recorded(own, execution.run),
            )

    @property
    def answers(self) -> list[Any]:
        """What the suggested program printed."""
        return list(json.loads(self.execution.output)) if self.execution is not None else []

    def check(self) -> None:
        for name, reason in self.unavailable.items():
            expect(False, f"server {name!r} to be ready", reason)
        self._check_linted()
        self._check_known()
        self._check_ran()

    def _check_linted(self) -> None:
        scores = {name: one.score or 0.0 for name, one in self.reports.items()}
        expect(set(scores) == {_UNDECLARED, CONTRACT_SERVER}, "two servers to be judged", ", ".join(scores))
        own, other = self.reports[CONTRACT_SERVER], self.reports[_UNDECLARED]
        grave = [one.message for one in own.findings if one.severity != "info"]
        expect(not grave, f"nothing in {CONTRACT_SERVER} to be an error or a warning", "; ".join(grave))
        expect(
            scores[CONTRACT_SERVER] > scores[_UNDECLARED],
            f"{CONTRACT_SERVER} to compose better than {_UNDECLARED}",
            f"{scores[CONTRACT_SERVER]:g} and {scores[_UNDECLARED]:g} of 100",
        )
        gains = [one.gain for one in other.fixes[:1]]
        expect(bool(gains) and gains[0] > 0, f"something that would help {_UNDECLARED}", "nothing")

    def _check_known(self) -> None:
        expect(self.calls_before == 0, "all of it to be known before any call", f"{self.calls_before} calls")
        unknown = [name for name, returned in self.returns.items() if not returned]
        expect(
            bool(self.returns) and not unknown,
            f"every tool of {CONTRACT_SERVER} to say what it returns",
            f"{', '.join(unknown) or 'no tool'}",
        )
        ways = {(one.source, one.target): one for one in self.edges}
        for ends, what in story.KIT_EDGES.items():
            edge = ways.get(ends)
            goes = _goes(edge) if edge is not None else []
            expect(goes == [what], f"{what} from {ends[0]} to {ends[1]}", ", ".join(goes) or "no such edge")
            kinds = edge.kinds if edge is not None else ()
            expect("declared" in kinds, f"{what} to be declared", f"only {', '.join(sorted(kinds))}")
        outside = [way for edge in self.edges for way in _goes(edge) if not way.startswith("data.")]
        expect(not outside, "all ways to begin in the data of the envelope", ", ".join(outside))

    def _check_ran(self) -> None:
        expect(self.suggestion is not None, f"a way to {story.KIT_CONTACTS} to be suggested", "none")
        assert self.suggestion is not None
        assert self.execution is not None
        wanted = [story.KIT_PIPELINE, story.KIT_CONTACTS]
        came = self.suggestion["tools"]
        expect(came == wanted, " → ".join(wanted), " → ".join(came))
        lacks = [one["parameter"] for one in self.suggestion["missing"]]
        expect(not lacks, "nothing to be missing", ", ".join(lacks))
        expect(self.execution.ok, "the suggested program to run to its end", self.execution.text)
        found = [
            one["opportunity_id"]
            for call in self.calls
            if call.name == story.KIT_PIPELINE
            for one in call.value["data"]["opportunities"]
            if one["stage"] == story.KIT_STAGE
        ]
        expect(bool(found), f"opportunities in {story.KIT_STAGE} to be found", "none")
        got = [one["data"]["opportunity_id"] for one in self.answers if one["success"]]
        expect(got == found, f"the contacts of {', '.join(found)}", ", ".join(got) or "none")

    def draw(self) -> Iterator[RenderableType]:
        yield _scores(self.reports)
        other = self.reports[_UNDECLARED]
        best = other.fixes[0]
        first = next(one for one in other.findings if one.rule == best.rule)
        yield Text.assemble(
            (f"What would help {_UNDECLARED} most: ", "yellow"),
            f"{best.rule} mended in {best.tools} tools, +{best.gain:.1f}. {one_line(first.fix, 300)}",
        )
        yield Text("")
        yield Text.assemble(
            (f"✓ {len(self.returns)} of {len(self.returns)} tools", "green"),
            " say what they return, before any call. One of them:",
        )
        yield Text.assemble(
            (f"  {bare(story.KIT_CONTACTS)} returns ", "dim"), one_line(self.returns[story.KIT_CONTACTS], 600)
        )
        yield Text.assemble(
            (f"✓ {len(self.edges)} ways", "green"), " are known at once, out of the data of the envelope:"
        )
        yield feeding(self.edges, self.tools, {(one.source, one.target) for one in self.edges})
        yield Text("")
        yield Text.assemble("At hand: ", (f"stage = {story.KIT_STAGE!r}", "cyan"))
        yield Text.assemble("Wanted:  ", (story.KIT_CONTACTS, "cyan"))
        assert self.suggestion is not None
        yield workflow(self.suggestion["steps"])
        for one in self.answers:
            people = ", ".join(f"{who['name']} ({who['role']})" for who in one["data"]["contacts"])
            yield Text.assemble((f"{one['data']['opportunity_id']}  ", "cyan"), one_line(people, 200))

    def to_json(self) -> dict[str, Any]:
        return {
            "lint": {name: one.to_json() for name, one in self.reports.items()},
            "callsBefore": self.calls_before,
            "returns": dict(self.returns),
            "edges": [one.to_json() for one in self.edges],
            "suggestion": self.suggestion,
            "calls": [one.name for one in self.calls],
            "answers": self.answers,
        }


def _goes(edge: Edge) -> list[str]:
    return [f"{path_text(one.source)} → {path_text(one.target)}" for one in edge.links]


def _scores(reports: Mapping[str, ServerReport]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("halflap lint", style="cyan", overflow="fold")
    table.add_column("of 100", justify="right")
    table.add_column("Found", overflow="fold")
    best = max(one.score or 0.0 for one in reports.values())
    for name, one in reports.items():
        found = ", ".join(f"{count} × {kind}" for kind, count in one.counts().items() if count)  # noqa: RUF001 -- times
        style = "bold green" if one.score == best else "yellow"
        table.add_row(name, Text(f"{one.score:g}", style), found or "nothing")
    return table
