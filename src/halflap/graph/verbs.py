"""The verbs that tools are called by: those that read, those that change, those that destroy."""

from __future__ import annotations

__all__ = [
    "ALIKE",
    "AT_TIMES_THINGS",
    "CHANGING",
    "COMPOUND",
    "DESTROYING",
    "ENDS_IN",
    "INFLECTED",
    "NOT_BEFORE",
    "NO_COMPOUND",
    "READING",
    "REPORTS",
    "THINGS",
]

READING = frozenset(
    {"get", "list", "search", "find", "fetch", "read", "query", "lookup", "retrieve", "show", "describe", "check",
     "count", "view", "browse", "inspect", "preview", "download", "export", "summarize", "calculate", "validate",
     "is", "has", "can", "explain", "compare", "analyze", "verify", "select", "scan", "watch", "poll", "peek"}
)  # fmt: skip
DESTROYING = frozenset(
    {"delete", "remove", "drop", "cancel", "purge", "destroy", "erase", "revoke", "truncate", "terminate", "kill",
     "wipe", "uninstall", "unsubscribe", "refund", "reset", "discard", "clear", "void", "deactivate", "disable",
     "empty", "flush", "unlink", "expire", "ban", "archive", "detach", "reject", "del", "rm", "rmdir", "trash",
     "prune", "shred", "nuke", "overwrite", "invalidate", "suspend", "abort", "decommission", "deprovision",
     "undeploy", "unpublish", "unassign", "unshare", "unregister", "deregister", "evict", "kick", "dismiss",
     "decline", "deny", "forget", "rollback", "revert", "withdraw", "retire", "shutdown", "cleanup", "unset",
     "obliterate", "annul", "rescind", "delist", "deauthorize", "expel", "undo"}
)  # fmt: skip
CHANGING = DESTROYING | frozenset(
    {"create", "update", "add", "set", "send", "write", "post", "put", "insert", "edit", "modify", "patch", "book",
     "move", "rename", "upload", "publish", "submit", "approve", "close", "open", "assign", "merge", "push",
     "commit", "pay", "charge", "transfer", "buy", "order", "reply", "enable", "start", "stop",
     "restart", "run", "execute", "deploy", "install", "register", "invite", "schedule", "save", "store", "upsert",
     "make", "place", "change", "replace", "purchase", "reserve", "activate", "reboot", "block", "unblock", "lock",
     "unlock", "restore", "undelete", "subscribe", "share", "grant", "attach", "import", "sync", "trigger", "launch",
     "checkout", "forward", "notify", "email", "mail", "release", "leave", "join", "append", "resolve", "reopen",
     "convert", "copy", "clone", "fork", "issue", "withhold", "reschedule", "redeem", "apply", "confirm", "sign"}
)  # fmt: skip

THINGS = frozenset(
    {"order", "store", "post", "schedule", "commit", "charge", "refund", "archive", "book", "reset", "ban", "void",
     "trash", "transfer", "purchase", "block", "place", "share", "email", "mail", "release", "leave", "issue", "fork",
     "reserve", "empty", "clear", "checkout", "trigger", "launch", "grant", "clone", "sign"}
)  # fmt: skip
"""What is a thing, or says what one is like, as well."""
AT_TIMES_THINGS = THINGS | frozenset(
    {"update", "set", "open", "close", "start", "stop", "put", "buy", "run", "merge", "reply", "push", "change",
     "copy", "import", "patch", "lock", "forward", "sync", "kick", "invite", "edit", "move", "drop", "reject",
     "install", "write", "save", "commit"}
)  # fmt: skip
"""What is one in a sentence, or behind a verb that reads; where it leads a tool's name it is what that does."""

REPORTS = frozenset(
    {"history", "histories", "list", "lists", "detail", "details", "status", "statuses", "info", "information",
     "summary", "overview", "count", "counts", "stats", "statistics", "report", "reports", "log", "logs", "item",
     "items", "id", "ids", "by", "of", "for", "metadata", "search", "lookup", "schema", "type", "types", "total",
     "totals", "price", "prices", "number", "tracking", "timeline", "comments", "author", "authors", "names"}
)  # fmt: skip
"""What comes behind a thing that a tool tells about."""
NOT_BEFORE = frozenset({"query", "check", "is", "has", "can", "count", "scan", "select", "watch"})
"""What may be done something with, as in `schedule_check`, though it is a verb as well."""

COMPOUND = (
    "delete", "remove", "cancel", "purge", "destroy", "erase", "revoke", "truncate", "terminate", "deactivate",
    "disable", "uninstall", "unsubscribe", "unlink", "drop", "kill", "wipe", "clear", "flush", "create", "update",
    "insert", "upload", "send",
)  # fmt: skip
"""Verbs that others are written together with: `deleteuser`."""
ENDS_IN = ("delete", "remove", "destroy", "purge", "erase", "revoke", "truncate")
INFLECTED = frozenset(
    {"ing", "ling", "led", "lation", "lations", "able", "lable", "ment", "ings", "ers", "ler", "ped", "ping", "ance",
     "ances", "ness", "rs", "ion", "ions", "ation"}
)  # fmt: skip
NO_COMPOUND = frozenset(
    {"dropbox", "dropdown", "dropdowns", "dropoff", "dropoffs", "droplet", "droplets", "dropout", "clearbit",
     "clearing", "clearinghouse", "sendgrid", "sendinblue", "sender", "senders", "killer", "clearly", "undelete"}
)  # fmt: skip

ALIKE = (
    frozenset(
        {"delete", "remove", "erase", "destroy", "drop", "purge", "wipe", "trash", "del", "rm", "unlink"}
    ),
    frozenset({"cancel", "abort", "annul", "void"}),
    frozenset({"create", "add", "make", "insert", "place"}),
    frozenset({"update", "edit", "modify", "change", "set", "patch", "put", "upsert"}),
    frozenset({"send", "email", "mail", "post"}),
    frozenset({"book", "reserve"}),
    frozenset({"buy", "purchase", "order"}),
    frozenset({"refund", "reimburse"}),
    frozenset({"disable", "deactivate"}),
    frozenset({"enable", "activate"}),
    frozenset({"clear", "empty", "flush"}),
    frozenset({"start", "launch", "run", "execute", "trigger"}),
    frozenset({"stop", "terminate", "kill", "shutdown"}),
    frozenset({"close", "resolve"}),
    frozenset({"save", "store", "write"}),
    frozenset({"reject", "decline", "deny"}),
    frozenset({"revoke", "withdraw"}),
)
"""Verbs that are said for one another."""
