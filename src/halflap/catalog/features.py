"""What servers offer besides tools, as the store keeps it: read, written, and pinned like tools."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic.alias_generators import to_camel

from halflap.catalog.naming import feature_name
from halflap.core.values import Features, Tool, definition_hash

if TYPE_CHECKING:
    from halflap.store import ServerRows

_MAX_REMOVED = 1_000
"""Removed prompts that are remembered, so that one that comes back changed counts as changed."""


@dataclass(frozen=True, slots=True)
class KeptFeatures:
    """The features of one server, and the accepted definitions of prompts that changed since or were removed."""

    features: Features = field(default_factory=Features)
    accepted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def prompts(self) -> dict[str, Mapping[str, Any]]:
        """The definitions of prompts in the form of tools' definitions, by name."""
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
    """Store what a server offers now. Pure."""
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
    """Accept the current definitions of these prompts, by their own names. Pure."""
    kept = None if before.server is None else read_features(before.server.features)
    if before.server is None or kept is None:
        return before
    rest = {name: one for name, one in kept.accepted.items() if name not in names}
    return _with(before, replace(kept, accepted=rest))


def prompt_tool(server: str, definition: Mapping[str, Any]) -> Tool:
    """Return a prompt as the rules for tools see it."""
    name = str(definition["name"])
    return Tool(
        name=feature_name(server, "prompt", name),
        server=server,
        original_name=name,
        description=str(definition.get("description") or ""),
        input_schema=definition["inputSchema"],
        title=definition.get("title"),
        hash=definition_hash(definition),
    )


def _definition(prompt: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: prompt.get(key) for key in ("name", "title", "description")},
        "inputSchema": {"arguments": prompt.get("arguments")},
    }
