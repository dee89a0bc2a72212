"""Frozen values shared by every layer, and the protocol that anything callable implements."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Literal, Protocol

SCRIPTS: Final = "script"
"""Server name of saved scripts, whose tools are `script__<name>`. No upstream may use it."""
DSPY: Final = "dspy"
"""Server name of saved DSPy programs, whose tools are `dspy__<name>`."""
OWN: Final = (SCRIPTS, DSPY)
"""Halflap's own tool sources: they need no server process."""


class Progress(Protocol):
    """Receives progress notifications of a call."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


def canonical(value: Any) -> str:
    """Serialise JSON independently of key order."""
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
    """Of the whole definition, see `definition_hash`."""

    @cached_property
    def schema_hash(self) -> str:
        """What was learned of the tool counts as long as this stays: reworded descriptions do not change it."""
        return schema_hash(self.input_schema, self.output_schema)


ToolInfo = Tool
"""Alias: other tool registries use this name."""


def definition_hash(definition: Mapping[str, Any]) -> str:
    """Hash what an agent relies on: names, texts, schemas, annotations; not icons or `_meta`."""
    kept = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
    return sha256(canonical({key: definition.get(key) for key in kept}).encode()).hexdigest()


_TEXTS = frozenset({"title", "description", "$comment", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def schema_hash(input_schema: Any, output_schema: Any) -> str:
    """Hash what a tool takes and returns, without the texts that explain it."""
    bare = [_without_texts(schema) for schema in (input_schema, output_schema)]
    return sha256(canonical(bare).encode()).hexdigest()


def _without_texts(schema: Any, *, is_named: bool = False) -> Any:
    """Drop the texts of a schema; with `is_named`, the keys are names of properties or definitions."""
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
    """A server's answer to `tools/list`: the definitions exactly as they came."""

    server: str
    tools: tuple[Mapping[str, Any], ...]
    instructions: str | None = None
    protocol_version: str | None = None
    server_info: str | None = None
    ttl_seconds: float | None = None
    warnings: tuple[str, ...] = ()
    again: tuple[Mapping[str, Any], ...] = ()
    """Later definitions under a name that was listed before. They cannot be called."""


@dataclass(frozen=True, slots=True)
class Features:
    """What a server offers besides tools, exactly as it came."""

    server_info: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    prompts: tuple[Mapping[str, Any], ...] = ()
    resources: tuple[Mapping[str, Any], ...] = ()
    templates: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """A server announced a change: of one of its lists, or of a resource."""

    server: str
    what: Literal["tools", "prompts", "resources", "updated"]
    uri: str = ""
    """The resource that was updated."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Tools added, removed and changed by a refresh, as sorted namespaced names."""

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
        """Read a server's result, tolerating sloppy types."""
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
        """Return the result in the protocol's form."""
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
    """Results of a resumable run's earlier calls, and a place to record new ones.

    The run's program calls tools by marked names, which say which step of the workflow the call belongs to.
    """

    @property
    def run(self) -> str:
        """The identifier of the run."""

    def tool(self, name: str) -> str | None:
        """Return the tool behind a marked name, or None if the name has no mark."""

    def recall(self, name: str, arguments: Mapping[str, Any]) -> Result | None:
        """Return what this call returned before, or None if it has to be made."""

    async def make(self, name: str, call: Callable[[], Awaitable[Result]]) -> Result:
        """Make the call and note what became of it."""


class ClientChannel(Protocol):
    """The client behind a call, as far as servers may reach it while the call is in flight."""

    @property
    def identity(self) -> object:
        """Equal for calls of one client: a question may be asked through either of them."""

    @property
    def is_local(self) -> bool:
        """It runs on this machine as the same user, so that its folders are ours."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What it can be asked, in the protocol's form: `elicitation`, `sampling`, `roots`."""

    @property
    def log_level(self) -> str | None:
        """The lowest level of log messages that it wants; None for none at all."""

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        """Return the answers to a server's requests by key; raises `ClientRefusedError`."""

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification on; one that the client does not want is dropped."""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What goes along with a client's own request for one tool, prompt or resource."""

    meta: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, Any] | None = None
    """Answers to the server's questions, from a client that repeats its request with them."""
    state: str | None = None
    """What the server gave it to send back."""
    takes_questions: bool = False
    """A question of the server goes back as the result (`InputRequiredError`) instead of being asked."""


_PERSON, _SHARED_TOKEN = "person:", "http:"


def principal_of_person(name: str) -> str:
    """Return the principal of a named person, which stays the same when their token changes."""
    return _PERSON + name


def person_of(principal: str) -> str | None:
    """Return the person's name; None for the owner of the gateway."""
    return principal.removeprefix(_PERSON) if principal.startswith(_PERSON) else None


def principal_of_token(token: str) -> str:
    """Return the principal of everyone who has the one token that is not a person's; it reveals nothing of the token."""
    return _SHARED_TOKEN + sha256(b"Bearer " + token.encode()).hexdigest()[:16]


def has_shared_token(principal: str) -> bool:
    return principal.startswith(_SHARED_TOKEN)


@dataclass(frozen=True, slots=True)
class CallContext:
    """On whose behalf and within which limits a call is made. Passed along with every nested call."""

    principal: str = "local"
    run: str | None = None
    parent: str | None = None
    deadline: float | None = None
    """On the event loop's clock; None if only the configured limits apply."""
    depth: int = 0
    confirmations: frozenset[str] = frozenset()
    """Destructive tools that the person has confirmed."""
    unconfirmed: str = ""
    """Why the other destructive tools are not confirmed."""
    rule: Callable[[Tool], None] | None = None
    """An extra check before a tool is called; raises to refuse."""
    progress: Progress | None = None
    client: ClientChannel | None = None
    """Answers what a server asks during the call; without one, the server gets an error."""
    forwarded: Forwarded | None = None
    """Only for a client's own request, not for calls that a program makes."""
    cancelled: Callable[[Any], None] | None = None
    """Receives the partial report of a program that is cancelled."""
    journal: CallJournal | None = None
    """Used for the calls of a workflow's program, not for calls nested inside them."""
    line: int | None = None
    """The line of the program that makes the call, if that is known."""
    mark: str = ""
    """Ends the identifier under which this call is recorded, so that a resumed workflow finds it."""


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
    """Why the tool's server cannot be reached right now, or None."""


class ToolSource(Protocol):
    """Anything with tools that can be called: an upstream server, the saved scripts, the DSPy programs."""

    @property
    def name(self) -> str:
        """The server part of its tools' names."""

    async def list(self) -> Listing:
        """Return the tools it has now."""

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> Result:
        """Call a tool by its original name. `repeatable` means that calling twice does no harm.

        The source awaits `admit` right before each time it sends the call, once it is connected and its tools are
        listed; what `admit` raises is the outcome of the call.
        """
