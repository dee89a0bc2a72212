"""Frozen values shared by every layer, and the protocol that anything callable implements."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Literal, Protocol

SCRIPTS: Final = "script"
"""Server name of saved scripts, whose tools are `script__<name>`."""
DSPY: Final = "dspy"
"""Server name of saved DSPy programs, whose tools are `dspy__<name>`."""
OWN: Final = (SCRIPTS, DSPY)
"""Halflap's own tool sources. No upstream server may have these names."""


class Progress(Protocol):
    """A callback for progress notifications of a call."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


def canonical(value: Any) -> str:
    """Serialize JSON with sorted keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Annotations:
    """What a server claims about its tool. Whether the claim counts depends on `trust_annotations`."""

    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True)
class Tool:
    """A tool as its server defines it, under its namespaced name."""

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
    """The `definition_hash` of the definition."""

    @cached_property
    def schema_hash(self) -> str:
        """Identifies what was learned about the tool: rewording a description does not change it."""
        return schema_hash(self.input_schema, self.output_schema)


ToolInfo = Tool
"""The name other tool registries use."""


def definition_hash(definition: Mapping[str, Any]) -> str:
    """Hash the parts of a definition that an agent relies on: everything but icons and `_meta`."""
    kept = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
    return sha256(canonical({key: definition.get(key) for key in kept}).encode()).hexdigest()


_TEXTS = frozenset({"title", "description", "$comment", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def schema_hash(input_schema: Any, output_schema: Any) -> str:
    """Hash a tool's schemas without descriptions, titles and examples."""
    bare = [_without_texts(schema) for schema in (input_schema, output_schema)]
    return sha256(canonical(bare).encode()).hexdigest()


def _without_texts(schema: Any, *, is_named: bool = False) -> Any:
    """Drop descriptions, titles and examples; with `is_named`, the keys are names of properties or definitions."""
    if isinstance(schema, list):
        return [_without_texts(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_texts(inner, is_named=not is_named and key in _NAMED)
        for key, inner in schema.items()
        if is_named or key not in _TEXTS
    }


@dataclass(frozen=True, slots=True)
class Listing:
    """A server's answer to `tools/list`, with the definitions unchanged."""

    server: str
    tools: tuple[Mapping[str, Any], ...]
    instructions: str | None = None
    protocol_version: str | None = None
    server_info: str | None = None
    ttl_seconds: float | None = None
    warnings: tuple[str, ...] = ()
    repeated: tuple[Mapping[str, Any], ...] = ()
    """Definitions that repeat an earlier name; they cannot be called."""


@dataclass(frozen=True, slots=True)
class Features:
    """What a server offers besides tools, unchanged."""

    server_info: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    prompts: tuple[Mapping[str, Any], ...] = ()
    resources: tuple[Mapping[str, Any], ...] = ()
    templates: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """A server's notification that a list or a resource changed."""

    server: str
    what: Literal["tools", "prompts", "resources", "updated"]
    uri: str = ""
    """The resource, for `updated`."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Tools that a refresh added, removed or changed, as sorted names."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call, unchanged: nothing is dropped, parsed or refused."""

    content: tuple[Mapping[str, Any], ...] = ()
    structured_content: Any = None
    has_structured_content: bool = False
    is_error: bool = False
    meta: Mapping[str, Any] | None = None

    @classmethod
    def from_wire(cls, raw: Mapping[str, Any]) -> Result:
        """Read a server's result; sloppy types are tolerated."""
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
    """The calls of a resumable workflow run: earlier results are replayed, new ones are recorded.

    The program calls tools by marked names, which identify the step of the workflow.
    """

    @property
    def run(self) -> str:
        """The run's identifier."""

    def tool(self, name: str) -> str | None:
        """Return the tool behind a marked name, or None if the name has no mark."""

    def recall(self, name: str, arguments: Mapping[str, Any]) -> Result | None:
        """Return the recorded result of a call, or None if it has to be made."""

    async def make(self, name: str, call: Callable[[], Awaitable[Result]]) -> Result:
        """Make a call and record its outcome."""


class ClientChannel(Protocol):
    """The way from a server back to the client whose call is in flight."""

    @property
    def identity(self) -> object:
        """Equal for all calls of one client."""

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine as the same user and sees the same folders."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The protocol's client capabilities: `elicitation`, `sampling`, `roots`."""

    @property
    def log_level(self) -> str | None:
        """The lowest level of log messages it wants; None for no messages."""

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        """Return the answers to a server's requests, by key; raise `ClientRefusedError`."""

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification, unless the client does not want it."""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What a client's own request for a tool, prompt or resource carries along."""

    meta: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, Any] | None = None
    """The client's answers to the server's questions, when it repeats a request."""
    state: str | None = None
    """The server's opaque state, sent back with the answers."""
    takes_questions: bool = False
    """Whether questions are returned as the result (`InputRequiredError`) instead of being asked."""


_PERSON, _SHARED_TOKEN = "person:", "http:"


def principal_of_person(name: str) -> str:
    """Return the principal of a person; it survives a change of their token."""
    return _PERSON + name


def person_of(principal: str) -> str | None:
    """Return the person's name, or None if the principal is not a person's."""
    return principal.removeprefix(_PERSON) if principal.startswith(_PERSON) else None


def principal_of_token(token: str) -> str:
    """Return the principal of clients with the shared token, without revealing it."""
    return _SHARED_TOKEN + sha256(b"Bearer " + token.encode()).hexdigest()[:16]


def has_shared_token(principal: str) -> bool:
    return principal.startswith(_SHARED_TOKEN)


@dataclass(frozen=True, slots=True)
class CallContext:
    """Who makes a call, and within which limits. Passed along with every nested call."""

    principal: str = "local"
    run: str | None = None
    parent: str | None = None
    deadline: float | None = None
    """In the event loop's time; None if only the configured limits apply."""
    depth: int = 0
    confirmations: frozenset[str] = frozenset()
    """Destructive tools that the person confirmed."""
    unconfirmed: str = ""
    """Why the other destructive tools are not confirmed."""
    rule: Callable[[Tool], None] | None = None
    """An extra check before a tool is called; raises to refuse."""
    progress: Progress | None = None
    client: ClientChannel | None = None
    """Answers questions of servers; without one, a server gets an error."""
    forwarded: Forwarded | None = None
    """Set only for a client's own request, not for calls of a program."""
    cancelled: Callable[[Any], None] | None = None
    """Receives the partial report of a cancelled program."""
    journal: CallJournal | None = None
    """For the calls of a workflow's program, not for calls nested inside them."""
    line: int | None = None
    """The calling line of the program, if known."""
    mark: str = ""
    """Suffix of the recorded call's identifier, by which a resumed workflow finds it."""


Handler = Callable[..., Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    """A callable tool: its definition, and a handler that takes keyword arguments."""

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
    """Why its server cannot be reached right now, or None."""


class ToolSource(Protocol):
    """Anything with callable tools: an upstream server, the saved scripts, the DSPy programs."""

    @property
    def name(self) -> str:
        """The server part of its tools' names."""

    async def list(self) -> Listing:
        """Return its current tools."""

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> Result:
        """Call a tool by its original name; a `repeatable` call may be sent twice.

        Await `admit` right before each attempt, once connected and listed; whatever it raises is the call's outcome.
        """
