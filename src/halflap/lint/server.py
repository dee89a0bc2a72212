"""A server as the linter sees it: its tools, read, with what their results showed and who else there is."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.text import visible
from halflap.graph.graph import Graph
from halflap.graph.ports import ports_of
from halflap.graph.words import words_in
from halflap.lint.empty import held_open, is_open
from halflap.lint.parts import parts_of
from halflap.lint.told import sentences_about, told_of_parameters
from halflap.schema import is_wrapped, parse_schema, read_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.core.values import Tool
    from halflap.graph.edge import Ports
    from halflap.lint.parts import Part
    from halflap.schema import ToolSchema, Type

__all__ = [
    "UNSEEN",
    "Breach",
    "Entry",
    "Joined",
    "Seen",
    "Server",
    "Unread",
    "read_server",
    "read_tool",
    "with_graph",
]

logger = logging.getLogger(__name__)

_LONGEST_NAME = 100
_LONGEST_READ = 20_000
_PLAIN = frozenset({"number", "integer", "boolean", "null"})


@dataclass(frozen=True, slots=True)
class Breach:
    """A place where results were not what their tool declares."""

    path: str
    expected: str
    times: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What the results of a tool showed, as far as any are known."""

    observations: int = 0
    """Results that were no errors, from which something was learned."""
    confidence: float = 0.0
    type: Type | None = None
    schema: Mapping[str, Any] | None = None
    """What was learned, as JSON Schema."""
    breaches: tuple[Breach, ...] = ()
    calls: int = 0
    """Recorded results that were looked at."""
    failures: tuple[str, ...] = ()
    """Texts of results that tell of a failure, and are not marked as one."""
    failed_texts: int = 0
    """How many of the results on record were no more than such a text."""
    texts: int = 0
    """How many were another text."""
    observed_texts: int = 0
    """How many of the observations were a text, and no more."""


UNSEEN = Seen()


@dataclass(frozen=True)
class Entry:
    """A tool, read."""

    tool: Tool
    schema: ToolSchema
    ports: Ports
    seen: Seen
    inputs: tuple[Part, ...]
    outputs: tuple[Part, ...]
    """What it declares to return; where it declares nothing, what was seen."""
    told: Mapping[str, str]
    """What its description says of its parameters."""
    definition: Mapping[str, Any] | None = None
    """As it came, where more is known than the catalogue keeps."""

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return self.tool.name

    @property
    def shown(self) -> str:
        """The name that its server gave it, fit for a message."""
        return visible(self.tool.original_name, _LONGEST_NAME)

    @property
    def declares_output(self) -> bool:
        """Whether it says anything of what it returns."""
        return self.schema.output_type is not None

    @property
    def open_fields(self) -> tuple[str, ...]:
        """The fields that it declares, where they say no more than that something is in them."""
        declared = None if self.tool.output_schema is None else read_type(self.tool.output_schema)
        return () if declared is None else held_open(declared)

    @property
    def says_nothing(self) -> bool:
        """Whether it has an output schema by which results may be anything."""
        if self.tool.output_schema is None:
            return False
        return self.schema.output_type is None or is_open(self.schema.output_type) or bool(self.open_fields)

    @property
    def knows_fields(self) -> bool:
        """Whether it is known which fields its results have: in a text there may be anything."""
        kind = self.schema.output_type or self.seen.type
        plain = kind is not None and all(one.kind in _PLAIN for one in (kind.members or (kind,)))
        return bool(self.outputs) or plain

    @property
    def returns_text(self) -> bool:
        """Whether its results are known to be texts, or lists of them."""
        kind = self.schema.output_type or self.seen.type
        while kind is not None and kind.kind == "array" and kind.items is not None:
            kind = kind.items
        members = () if kind is None else kind.members or (kind,)
        return any(one.kind == "string" for one in members)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return (*self.inputs, *self.outputs)

    def description_of(self, part: Part) -> str:
        """Give what is said of a field, in its schema and where the tool's description lists its parameters."""
        if part.side == "output":
            return part.description
        # What is told of `config` is told of what is in it, too; a field of its own name comes first.
        names = (part.name, *(step.key for step in reversed(part.path[:-1]) if step.kind == "key"))
        return " ".join(filter(None, (part.description, *(self.told.get(name, "") for name in names))))

    def is_described(self, part: Part) -> bool:
        """Whether anything says what a parameter is: its schema, what is in it, or the tool's description."""
        if self.description_of(part).strip():
            return True
        below = (one for one in self.inputs if one.path[: len(part.path)] == part.path)
        if any(one.description.strip() for one in below):
            return True
        text = self.tool.description[:_LONGEST_READ]
        if len(part.words) > 1 and part.name in text:
            # Nobody writes `requestId` by chance.
            return True
        alone = sum(len(one.path) == 1 for one in self.inputs) == 1
        return alone and words_in(text).issuperset(part.words)

    def all_said_of(self, part: Part) -> str:
        """Give that, and every sentence of the tool's description that names it."""
        return f"{self.description_of(part)} {sentences_about(self.tool.description, part.words)}".strip()


class Unread(NamedTuple):
    """A tool that could not be read, and why."""

    tool: str
    why: str


class Joined:
    """The graph of all tools, made when it is first asked for: who does not ask is not held up if it cannot be made."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self._servers = servers
        self._made: Graph | Exception | None = None

    @property
    def graph(self) -> Graph:
        if self._made is None:
            try:
                self._made = Graph(one.ports for server in self._servers for one in server.entries)
            except Exception as error:  # noqa: BLE001 -- raised below, each time, without making it again
                self._made = error
        if isinstance(self._made, Exception):
            raise self._made
        return self._made


@dataclass(frozen=True)
class Server:
    """The tools of one server, and the graph of them and of everybody else's."""

    name: str
    entries: tuple[Entry, ...]
    joined: Joined = field(default_factory=lambda: Joined(()), repr=False)
    duplicates: tuple[str, ...] = ()
    """Names that were listed more than once."""
    unread: tuple[Unread, ...] = ()
    """Tools that are not among the entries."""

    @property
    def graph(self) -> Graph:
        """What feeds what, of all servers at hand."""
        return self.joined.graph

    @cached_property
    def by_name(self) -> dict[str, Entry]:
        return {one.name: one for one in self.entries}


def read_tool(tool: Tool, seen: Seen = UNSEEN, definition: Mapping[str, Any] | None = None) -> Entry:
    """Read a tool's definition."""
    schema = parse_schema(tool)
    inside = "result" if is_wrapped(tool.output_schema) else ""
    outputs: tuple[Part, ...] = ()
    if schema.output_type is not None:
        outputs = parts_of(tool.output_schema, "output", inside=inside)
    elif seen.type is not None:
        outputs = parts_of(seen.schema, "output", is_seen=True)
    return Entry(
        tool=tool,
        schema=schema,
        ports=ports_of(tool, schema, seen.type, learned_confidence=seen.confidence),
        seen=seen,
        inputs=parts_of(tool.input_schema, "input"),
        outputs=outputs,
        told=told_of_parameters(tool.description),
        definition=definition,
    )


def read_server(
    name: str,
    tools: Iterable[Tool],
    seen: Mapping[str, Seen] | None = None,
    *,
    duplicates: Sequence[str] = (),
    definitions: Mapping[str, Mapping[str, Any]] | None = None,
) -> Server:
    """Read all tools of a server; `seen` and `definitions` are by the tools' names in the catalogue."""
    entries: list[Entry] = []
    unread: list[Unread] = []
    for tool in tools:
        try:
            entries.append(
                read_tool(tool, (seen or {}).get(tool.name, UNSEEN), (definitions or {}).get(tool.name))
            )
        except Exception as error:
            # One definition that nobody thought of says nothing of the others.
            logger.exception("server %r: tool %r could not be read", name, tool.original_name)
            unread.append(Unread(tool.original_name, f"{type(error).__name__}: {error}"))
    return Server(name, tuple(entries), duplicates=tuple(duplicates), unread=tuple(unread))


def with_graph(servers: Sequence[Server]) -> list[Server]:
    """Let each server know of all others: what feeds what is worked out over all of them."""
    joined = Joined(servers)
    return [replace(one, joined=joined) for one in servers]
