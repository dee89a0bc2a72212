"""Merge a server's listing into the stored rows: names never change, and removed tools and prompts are remembered.

The functions are pure: rows in, rows out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal, TypeVar

from pydantic.alias_generators import to_camel

from halflap.core.values import OWN, Annotations, Features, Listing, Tool, canonical, definition_hash
from halflap.store import ServerRows, StoredServer, StoredTool

T = TypeVar("T")
PARTS = {
    "title": "title",
    "description": "description",
    "inputSchema": "input schema",
    "outputSchema": "output schema",
    "annotations": "annotations",
}
"""The parts of a definition that an agent relies on, with their names in messages."""
_MAX_REMOVED = 1_000
"""Removed tools and prompts that are remembered per server: one that returns with another definition has changed."""
_MAX_REMOVED_BYTES = 4_000_000
"""The size of the definitions of removed tools together, as JSON."""
MAX_NAME = 200
"""Characters of a name, since names appear in every list of tools. The longest of 527 real ones has 59."""
_NOT_IN_NAMES = re.compile(r"[^0-9A-Za-z_]")
_SUFFIX_DIGITS = 6


# Names: valid Python identifiers that never change once given


def namespaced(server: str, tool: str) -> str:
    """Return the name that a tool gets if it is free and not too long."""
    prefix = "" if server in OWN else "mcp__"
    return f"{prefix}{_NOT_IN_NAMES.sub('_', server)}__{_NOT_IN_NAMES.sub('_', tool)}"


def feature_name(server: str, kind: Literal["prompt", "resource"], name: str) -> str:
    """Return the name under which the rules for tools apply to a prompt or a resource."""
    return namespaced(server, f"{kind}__{name}")


def choose_name(server: str, tool: str, taken: Mapping[str, tuple[str, str]]) -> str:
    """Return a tool's name. If the plain one is taken or too long, it gets a suffix derived from its original name."""
    return next(
        name for name in _candidates(server, tool, taken) if taken.get(name, (server, tool)) == (server, tool)
    )


def _candidates(server: str, tool: str, taken: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    plain = namespaced(server, tool)
    # Long names from before the limit are kept.
    if len(plain) <= MAX_NAME or taken.get(plain) == (server, tool):
        yield plain
    digest = sha256(f"{server}\0{tool}".encode(errors="surrogatepass")).hexdigest()
    for digits in range(_SUFFIX_DIGITS, len(digest) + 1):
        yield f"{plain[: MAX_NAME - digits - 1]}_{digest[:digits]}"


# Tools


def absorb(before: ServerRows, listing: Listing, fingerprint: str, now: float) -> ServerRows:
    """Merge a listing into the rows of its server."""
    known = {tool.original_name: tool for tool in before.tools}
    taken = dict(before.names)
    tools: dict[str, StoredTool] = {}
    for position, definition in enumerate(listing.tools):
        original, digest = str(definition["name"]), definition_hash(definition)
        old = known.get(original)
        if original in tools:
            continue
        if old is None:
            name = choose_name(listing.server, original, taken)
            taken[name] = (listing.server, original)
            old = StoredTool(
                listing.server, original, name, definition, digest, definition, digest, now, now, position
            )
        tools[original] = replace(
            old, definition=definition, hash=digest, last_seen=now, position=position, removed=False
        )
    gone = _remembered([tool for original, tool in known.items() if original not in tools])
    server = StoredServer(
        listing.server,
        fingerprint,
        now,
        listing.ttl_seconds,
        listing.protocol_version,
        listing.server_info,
        listing.instructions,
        None if before.server is None else before.server.features,
    )
    return ServerRows(server, [*tools.values(), *gone], taken)


def _remembered(removed: Collection[StoredTool]) -> list[StoredTool]:
    """Return the removed tools to keep: those offered for the longest time, so that a flood only replaces itself."""
    kept, size = [], 0
    for tool in sorted(removed, key=lambda one: one.first_seen - one.last_seen)[:_MAX_REMOVED]:
        size += len(json.dumps(tool.definition)) + len(json.dumps(tool.accepted))
        if size > _MAX_REMOVED_BYTES:
            break
        kept.append(replace(tool, removed=True))
    return sorted(kept, key=lambda one: one.position)


def tool_of(definition: Mapping[str, Any], server: str, name: str, digest: str = "") -> Tool:
    """Read a definition, tolerating values of any type."""
    claims = _only(dict, definition.get("annotations")) or {}
    return Tool(
        name=name,
        server=server,
        original_name=str(definition["name"]),
        description=_only(str, definition.get("description")) or "",
        input_schema=definition.get("inputSchema", {}),
        output_schema=_only(dict, definition.get("outputSchema")),
        title=_only(str, definition.get("title")),
        annotations=Annotations(
            title=_only(str, claims.get("title")),
            read_only=_only(bool, claims.get("readOnlyHint")),
            destructive=_only(bool, claims.get("destructiveHint")),
            idempotent=_only(bool, claims.get("idempotentHint")),
            open_world=_only(bool, claims.get("openWorldHint")),
        ),
        meta=_only(dict, definition.get("_meta")),
        hash=digest,
    )


def _only(kind: type[T], value: Any) -> T | None:
    return value if isinstance(value, kind) else None


def changed_parts(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the parts of a definition that differ."""
    # Compared as text: `True == 1` in Python, but not in the hash.
    return tuple(word for key, word in PARTS.items() if canonical(old.get(key)) != canonical(new.get(key)))


# Prompts, resources and templates


@dataclass(frozen=True, slots=True)
class KeptFeatures:
    """The features of one server, and the accepted definitions of prompts that have changed or were removed."""

    features: Features = field(default_factory=Features)
    accepted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def prompts(self) -> dict[str, Mapping[str, Any]]:
        """The definitions of prompts, in the form of tool definitions, by name."""
        return {str(one["name"]): _definition(one) for one in self.features.prompts}


@lru_cache(maxsize=256)
def read_features(text: str | None) -> KeptFeatures | None:
    """Return stored features; None if nothing is stored."""
    if text is None:
        return None
    stored = json.loads(text)
    lists = {key: tuple(stored[key]) for key in ("prompts", "resources", "templates")}
    return KeptFeatures(Features(stored["serverInfo"], stored["capabilities"], **lists), stored["accepted"])


def _with(before: ServerRows, kept: KeptFeatures) -> ServerRows:
    assert before.server is not None
    features = {to_camel(name): value for name, value in asdict(kept.features).items()}
    stored = json.dumps({**features, "accepted": kept.accepted})
    return replace(before, server=replace(before.server, features=stored))


def absorb_features(before: ServerRows, features: Features) -> ServerRows:
    """Store what a server offers now."""
    if before.server is None:
        return before
    old = read_features(before.server.features) or KeptFeatures()
    known = {**old.prompts, **old.accepted}
    now = KeptFeatures(features).prompts
    changed = {
        name: known[name]
        for name, one in now.items()
        if name in known and definition_hash(known[name]) != definition_hash(one)
    }
    removed = [name for name in known if name not in now][-_MAX_REMOVED:]
    return _with(before, KeptFeatures(features, {**{name: known[name] for name in removed}, **changed}))


def accept_prompts(before: ServerRows, names: Collection[str]) -> ServerRows:
    """Accept the current definitions of these prompts, by their own names."""
    kept = None if before.server is None else read_features(before.server.features)
    if before.server is None or kept is None:
        return before
    rest = {name: one for name, one in kept.accepted.items() if name not in names}
    return _with(before, replace(kept, accepted=rest))


def prompt_tool(server: str, definition: Mapping[str, Any]) -> Tool:
    """Return a prompt as the rules for tools see it."""
    name = feature_name(server, "prompt", str(definition["name"]))
    return tool_of(definition, server, name, definition_hash(definition))


def _definition(prompt: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: prompt.get(key) for key in ("name", "title", "description")},
        "inputSchema": {"arguments": prompt.get("arguments")},
    }
