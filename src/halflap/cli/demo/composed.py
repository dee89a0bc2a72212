"""The last steps: what was learned, what feeds what by it, the workflow that it makes possible, and what it saved."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from halflap.cli.demo import story
from halflap.cli.demo.drawing import NEW, SEEN, code, feeding, printed, schema_tree, workflow
from halflap.cli.demo.programs import Made, recorded
from halflap.cli.demo.step import Step, expect
from halflap.cli.output import one_line
from halflap.cli.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from halflap.cli.demo.known import Inspected
    from halflap.cli.demo.programs import Ran
    from halflap.gateway import Gateway
    from halflap.graph.edge import Edge, Ports
    from halflap.sandbox import Execution

__all__ = ["Counted", "Feeds", "Learned", "Suggested"]

_NEW_EDGE = (story.SEARCH_DOCS, story.GET_DOC)
_SEEN_EDGE = (story.TOP_CUSTOMERS, story.ORDER_HISTORY)


@dataclass(frozen=True)
class Learned(Step):
    """What is known now of the tool that declares nothing."""

    scene = story.LEARN
    observations: int
    confidence: float
    schema: Mapping[str, Any] | None
    """With counts."""
    values: Sequence[Any]
    """The results that it was learned from."""

    @classmethod
    async def take(cls, gateway: Gateway, ran: Ran) -> Learned:
        """Ask what was learned, and take the results from the record beside it."""
        from halflap.learn import schema_of  # noqa: PLC0415 -- much is loaded with it
        from halflap.observe import whole  # noqa: PLC0415 -- as above

        known = await gateway.known(gateway.snapshot.find(story.SEARCH_DOCS))
        values = [one.value for one in ran.calls if one.name == story.SEARCH_DOCS]
        if known is None:
            return cls(0, 0.0, None, values)
        return cls(known.observations, known.confidence, schema_of(whole(known.learned)), values)

    def check(self) -> None:
        from halflap.schema import compile_schema  # noqa: PLC0415 -- as above

        expect(
            self.schema is not None and self.observations == len(self.values),
            f"what was learned of {story.SEARCH_DOCS} to rest on the {len(self.values)} results of the run",
            f"{self.observations} were observed",
        )
        expect(0 < self.confidence < 1, "to be sure to a degree", f"{self.confidence}")
        validator = compile_schema(dict(self.schema or {}))
        expect(validator is not None, "a schema that results can be held against", f"{self.schema}")
        assert validator is not None
        problems = [str(one) for value in self.values for one in validator.problems(value)]
        expect(not problems, "every result to fit what was learned", "; ".join(problems))
        keys = (self.schema or {}).get("items", {}).get("properties", {})
        expect(story.RIGHT_KEY in keys, f"{story.RIGHT_KEY} to be learned", ", ".join(keys) or "no key")

    def draw(self) -> Iterator[RenderableType]:
        yield schema_tree(f"{story.SEARCH_DOCS} returns", self.schema or {})
        yield Text.assemble(
            (f"Seen in {self.observations} results. ", ""),
            (
                f"The next one fits with a chance of at least {math.floor(100 * self.confidence)} %",
                "bold green",
            ),
            (", and more results make it surer.", ""),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "tool": story.SEARCH_DOCS,
            "observations": self.observations,
            "confidence": self.confidence,
            "observedSchema": self.schema,
        }


@dataclass(frozen=True)
class Feeds(Step):
    """What feeds what now, and what did with nothing learned."""

    scene = story.FEEDS
    edges: Sequence[Edge]
    tools: Mapping[str, Ports]
    before: frozenset[tuple[str, str]]

    @classmethod
    async def take(cls, gateway: Gateway, inspected: Inspected) -> Feeds:
        """Ask for the graph."""
        graph = await gateway.graph()
        edges = await asyncio.to_thread(lambda: list(graph.edges()))
        return cls(edges, dict(graph.tools), inspected.edges)

    @property
    def sure(self) -> float:
        """How sure the new edge is."""
        return next((one.confidence for one in self.edges if (one.source, one.target) == _NEW_EDGE), 0.0)

    def check(self) -> None:
        now = {(one.source, one.target): one for one in self.edges}
        expect(
            _NEW_EDGE in now and _NEW_EDGE not in self.before,
            f"{_NEW_EDGE[0]} to feed {_NEW_EDGE[1]} since what it returns was learned",
            "it fed it before" if _NEW_EDGE in self.before else "it does not feed it",
        )
        seen = now.get(_SEEN_EDGE)
        expect(
            seen is not None and "lineage" in seen.kinds,
            f"values to be seen to go from {_SEEN_EDGE[0]} into {_SEEN_EDGE[1]}",
            "no such edge" if seen is None else f"only {', '.join(sorted(seen.kinds))} speaks for it",
        )

    def draw(self) -> Iterator[RenderableType]:
        yield feeding(self.edges, self.tools, self.before)
        new = len({(one.source, one.target) for one in self.edges} - self.before)
        yield Text.assemble(
            NEW,
            f"new: {len(self.before)} ways were known before, {new + len(self.before)} are now.   ",
            SEEN,
            "values were seen to go this way.   The numbers say how sure each is.",
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "before": len(self.before),
            "now": len(self.edges),
            "edges": [one.to_json() for one in self.edges],
        }


@dataclass(frozen=True)
class Suggested(Step):
    """A suggested workflow, and what came of its program."""

    scene = story.SUGGEST
    suggestion: Mapping[str, Any] | None
    execution: Execution | None
    calls: Sequence[Made]
    before: float
    """How sure it was that the one tool feeds the other."""
    after: float
    """How sure it is since values were seen to go that way."""

    @classmethod
    async def take(cls, gateway: Gateway, feeds: Feeds) -> Suggested:
        """Ask for a way from the question to the documents, and go it."""
        way = await gateway.suggest_workflow(want=story.GET_DOC, have={"query": story.QUESTION}, limit=1)
        if not way["suggestions"]:
            return cls(None, None, (), feeds.sure, feeds.sure)
        best = way["suggestions"][0]
        execution = await gateway.execute(best["program"])
        calls = await recorded(gateway, execution.run)
        graph = await gateway.graph()
        after = {(one.source, one.target): one.confidence for one in graph.out_of(story.SEARCH_DOCS)}
        return cls(best, execution, calls, feeds.sure, after.get(_NEW_EDGE, 0.0))

    @property
    def documents(self) -> list[Any]:
        """What its program printed."""
        return list(json.loads(self.execution.output)) if self.execution is not None else []

    def check(self) -> None:
        expect(self.suggestion is not None, f"a way to {story.GET_DOC} to be suggested", "none")
        assert self.suggestion is not None
        assert self.execution is not None
        expect(
            self.suggestion["tools"] == list(_NEW_EDGE),
            " → ".join(_NEW_EDGE),
            " → ".join(self.suggestion["tools"]),
        )
        lacks = [one["parameter"] for one in self.suggestion["missing"]]
        expect(not lacks, "nothing to be missing", ", ".join(lacks))
        expect(self.execution.ok, "the suggested program to run to its end", self.execution.text)
        hits = [hit for one in self.calls if one.name == story.SEARCH_DOCS for hit in one.value]
        found = [hit[story.RIGHT_KEY] for hit in hits]
        got = [document.get(story.RIGHT_KEY) for document in self.documents]
        expect(bool(found), "documents to be found", "none")
        expect(got == found, f"the documents {', '.join(found)}", ", ".join(map(str, got)) or "none")
        expect(
            self.after > self.before,
            f"the way to be surer than {self.before:.3f} once it was gone",
            f"{self.after:.3f}",
        )

    def draw(self) -> Iterator[RenderableType]:
        assert self.suggestion is not None
        yield Text.assemble("At hand: ", (f"query = {story.QUESTION!r}", "cyan"))
        yield Text.assemble("Wanted:  ", (story.GET_DOC, "cyan"))
        yield workflow(self.suggestion["steps"])
        yield code(self.suggestion["program"])
        yield Text("")
        for one in self.documents:
            yield Text.assemble((f"{one[story.RIGHT_KEY]}  ", "cyan"), (one["title"], "bold"))
        first = self.documents[0]
        yield printed(one_line(first["content"], 400), first[story.RIGHT_KEY])
        yield Text(
            f"Values were seen to go this way now: {self.before:.3f} sure before, {self.after:.3f} after. The loop is "
            "closed.",
            "green",
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "suggestion": self.suggestion,
            "calls": [one.name for one in self.calls],
            "documents": self.documents,
            "sure": {"before": self.before, "after": self.after},
        }


@dataclass(frozen=True)
class Counted(Step):
    """What stayed out of the model's context, and what went into it."""

    scene = story.COUNT
    unit: str
    tools: int
    definitions: int
    """Of all tools: name, description and parameters."""
    own: int
    """Of Halflap's own tools."""
    own_tools: int
    runs: Mapping[str, tuple[int, int]]
    """Of each program, its results and what of them came back."""

    @classmethod
    async def take(cls, gateway: Gateway, ran: Ran, suggested: Suggested) -> Counted:
        """Count with a tokenizer, or bytes where there is none."""
        from halflap.server.core import core_family  # noqa: PLC0415 -- much is loaded with it

        tools = [(tool.name, tool.description, tool.parameters) for tool in await gateway.tools()]
        own = [(tool.name, tool.description, tool.input_schema) for tool in core_family(gateway)]
        texts = [_definitions(tools), _definitions(own)]
        for step in (ran, suggested):
            texts += [
                "\n".join(one.text for one in step.calls),
                step.execution.text if step.execution else "",
            ]

        def count() -> Counted:
            tokens = [count_tokens(text) for text in texts]
            counts = [one for one in tokens if one is not None]
            unit = "tokens"
            if len(counts) < len(texts):
                unit, counts = "bytes", [len(text.encode()) for text in texts]
            all_tools, ours, *rest = counts
            runs = {"the program": (rest[0], rest[1]), "the suggested workflow": (rest[2], rest[3])}
            return cls(unit, len(tools), all_tools, ours, len(own), runs)

        return await asyncio.to_thread(count)

    @property
    def even(self) -> int:
        """From how many tools of this size on all definitions cost more than Halflap's own."""
        return math.floor(self.own * self.tools / self.definitions) + 1

    def check(self) -> None:
        expect(min(self.definitions, self.own, self.tools) > 0, "something to count", f"{self}")
        results, came = (sum(one[at] for one in self.runs.values()) for at in (0, 1))
        expect(came > 0, "programs to have told something", f"{came} {self.unit}")
        expect(results > came, f"more than {came:,} {self.unit} of results to stay out", f"{results:,}")

    def draw(self) -> Iterator[RenderableType]:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(f"Results, in {self.unit}", overflow="fold")
        table.add_column("of all calls", justify="right")
        table.add_column("read by the model", justify="right", style="bold green")
        for name, (results, came) in self.runs.items():
            table.add_row(name, f"{results:,}", f"{came:,}")
        yield table
        yield Text(
            f"Definitions: these {self.tools} tools take {self.definitions:,} {self.unit}, Halflap's own "
            f"{self.own_tools} take {self.own:,}, however many servers are behind it. With tools like these, that is "
            f"less from {self.even} tools on."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "definitions": {"tools": self.tools, "all": self.definitions, "halflap": self.own},
            "results": {name: {"all": results, "read": came} for name, (results, came) in self.runs.items()},
        }


def _definitions(tools: Sequence[tuple[str, str, Any]]) -> str:
    """Write tools as a client puts them before a model, as doctor does."""
    return "".join(
        json.dumps(
            {"name": name, "description": told, "input_schema": takes},
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for name, told, takes in tools
    )
