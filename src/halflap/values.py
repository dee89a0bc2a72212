"""Frozen values that every layer shares, and the one protocol of anything that can be called."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, Protocol

__all__ = [
    "DSPY",
    "OWN",
    "SCRIPTS",
    "Annotations",
    "CallContext",
    "CallJournal",
    "Changes",
    "Listing",
    "Progress",
    "RegisteredTool",
    "Result",
    "Tool",
    "ToolInfo",
    "ToolSource",
    "canonical",
    "definition_hash",
]

SCRIPTS: Final = "script"
"""The server that saved scripts count as: their tools are `script__<name>`. No upstream can be called so."""
DSPY: Final = "dspy"
"""The same for saved DSPy programs: their tools are `dspy__<name>`."""
OWN: Final = (SCRIPTS, DSPY)
"""Both: what is called by way of Halflap itself, and needs no server to be found."""


class Progress(Protocol):
    """Told how far a call is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take progress, the total if known, a message if any."""
        ...


def canonical(value: Any) -> str:
    """Give the one text of a JSON value that does not depend on the order of keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Annotations:
    """What the server claims of its tool. A claim: see `trust_annotations`."""

    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as its server defines it, under the name that Halflap gave it."""

    name: str
    server: str
    original_name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    title: str | None = None
    annotations: Annotations = field(default_factory=Annotations)
    meta: Mapping[str, Any] | None = None
    hash: str = ""


ToolInfo = Tool
"""The same under the name by which other registries know it."""


def definition_hash(definition: Mapping[str, Any]) -> str:
    """Hash what an agent relies on: names, texts, schemas, annotations; not icons or `_meta`."""
    kept = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
    return sha256(canonical({key: definition.get(key) for key in kept}).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Listing:
    """What one server said when it was asked for its tools: the definitions, as they came."""

    server: str
    tools: tuple[Mapping[str, Any], ...]
    instructions: str | None = None
    protocol_version: str | None = None
    server_info: str | None = None
    ttl_seconds: float | None = None
    warnings: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    """Names that it listed more than once; of each, the first is there."""
    again: tuple[Mapping[str, Any], ...] = ()
    """The others of those names, as they came: they cannot be called."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a refresh found: namespaced names, sorted."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call exactly as it came: nothing is dropped, parsed or refused."""

    content: tuple[Mapping[str, Any], ...] = ()
    structured_content: Any = None
    has_structured_content: bool = False
    is_error: bool = False
    meta: Mapping[str, Any] | None = None

    @classmethod
    def from_wire(cls, raw: Mapping[str, Any]) -> Result:
        """Read what a server sent; a server that is sloppy about types loses nothing by it."""
        content = raw.get("content")
        blocks = content if isinstance(content, list) else [] if content is None else [content]
        meta = raw.get("_meta")
        return cls(
            content=tuple(
                block if isinstance(block, dict) else {"type": "text", "text": _as_text(block)}
                for block in blocks
            ),
            structured_content=raw.get("structuredContent"),
            has_structured_content="structuredContent" in raw,
            is_error=raw.get("isError") is True,
            meta=meta if isinstance(meta, dict) else None,
        )

    def to_wire(self) -> dict[str, Any]:
        """Give the result back in the protocol's own form."""
        wire: dict[str, Any] = {"content": [dict(block) for block in self.content]}
        if self.has_structured_content:
            wire["structuredContent"] = self.structured_content
        wire["isError"] = self.is_error
        if self.meta is not None:
            wire["_meta"] = dict(self.meta)
        return wire

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class CallJournal(Protocol):
    """Knows what the calls of a run returned before, and keeps what they return now.

    Its program calls tools by names with a mark, which say which call it is.
    """

    @property
    def run(self) -> str:
        """The identifier of the run."""
        ...

    def tool(self, name: str) -> str | None:
        """Give the tool that a marked name stands for; None if it stands for none."""
        ...

    async def recall(self, name: str, arguments: Mapping[str, Any]) -> Result | None:
        """Give what the call returned before; None if it is to be made."""
        ...

    async def make(
        self, name: str, arguments: Mapping[str, Any], call: Callable[[], Awaitable[Result]]
    ) -> Result:
        """Make a call."""
        ...


@dataclass(frozen=True, slots=True)
class CallContext:
    """Goes along with every call, through however many hands it passes."""

    principal: str = "local"
    run: str | None = None
    parent: str | None = None
    deadline: float | None = None
    """On the event loop's clock; None when only the configured limits hold."""
    depth: int = 0
    confirmations: frozenset[str] = frozenset()
    """The destructive tools that the person has confirmed."""
    unconfirmed: str = ""
    """Why no other was."""
    rule: Callable[[Tool], None] | None = None
    """A further rule about what may be called; what it raises is the call's outcome."""
    progress: Progress | None = None
    cancelled: Callable[[Any], None] | None = None
    """Gets what there is of a program that is cancelled: whoever waits for it gets nothing else."""
    journal: CallJournal | None = None
    """Through which the calls of a program go, but not those within them."""


Handler = Callable[..., Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    """A callable tool: what it is, and a handler that calls it with keyword arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    handler: Handler
    server: str = ""
    original_name: str = ""
    annotations: Annotations = field(default_factory=Annotations)
    definition_hash: str = ""
    unavailable: str | None = None
    """Why the tool's server cannot be reached at the moment, or None."""


class ToolSource(Protocol):
    """Anything callable by name: an upstream server, a saved script, a DSPy program."""

    @property
    def name(self) -> str:
        """The server part of its tools' names."""
        ...

    async def list(self) -> Listing:
        """Say which tools there are now."""
        ...

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> Result:
        """Call a tool by its original name; `repeatable` says that doing it twice does no harm.

        `admit` is to be awaited right before each time that the call is sent, when the source is up and
        its tools are listed as they are now; what it raises is the call's outcome.
        """
        ...
