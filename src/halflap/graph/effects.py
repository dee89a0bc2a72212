"""Whether a tool seems to change something, by its name: no plan should do that on its way without need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.words import words_of

if TYPE_CHECKING:
    from halflap.graph.edge import Ports

__all__ = ["changing_words", "seems_to_change", "seems_to_destroy"]

_READING = frozenset(
    {"get", "list", "search", "find", "fetch", "read", "query", "lookup", "retrieve", "show", "describe", "check",
     "count", "view", "browse", "inspect", "preview", "download", "export", "summarize", "calculate", "validate"}
)  # fmt: skip
_DESTROYING = frozenset(
    {"delete", "remove", "drop", "cancel", "purge", "destroy", "erase", "revoke", "truncate", "terminate", "kill",
     "wipe", "uninstall", "unsubscribe", "refund", "reset", "discard"}
)  # fmt: skip
_CHANGING = _DESTROYING | frozenset(
    {"create", "update", "add", "set", "send", "write", "post", "put", "insert", "edit", "modify", "patch", "book",
     "move", "rename", "upload", "publish", "submit", "approve", "reject", "close", "open", "assign", "merge", "push",
     "commit", "pay", "charge", "transfer", "buy", "order", "reply", "archive", "enable", "disable", "start", "stop",
     "restart", "run", "execute", "deploy", "install", "register", "invite", "schedule", "save", "store", "upsert"}
)  # fmt: skip

_THINGS = frozenset(
    {"order", "open", "store", "post", "schedule", "set", "commit", "run", "charge", "refund", "push"}
)
"""What is a thing as well, where it comes last."""


def seems_to_change(ports: Ports) -> bool:
    """Say whether a tool is called as those are that change something."""
    return _does(ports, _CHANGING)


def changing_words(ports: Ports) -> frozenset[str]:
    """Give the words of a tool's name that say what it changes things by."""
    return _CHANGING.intersection(words_of(ports.original_name or ports.tool.rpartition("__")[2]))


def seems_to_destroy(ports: Ports) -> bool:
    """Say whether a tool is said to destroy something, or is called as those are that do."""
    return ports.is_destructive or _does(ports, _DESTROYING)


def _does(ports: Ports, verbs: frozenset[str]) -> bool:
    # What a tool does is its first word, or stands behind what it is about: `order_update`, and not `order_history`.
    words = words_of(ports.original_name or ports.tool.rpartition("__")[2])
    if not words or not _READING.isdisjoint(words):
        return False
    return (len(words) > 1 and words[0] in verbs) or words[-1] in verbs - _THINGS
