"""The verbs that tools are called by: those that read, those that change, those that destroy. What is in none changes."""

from __future__ import annotations

__all__ = [
    "ACTS",
    "AGENTS",
    "ALIKE",
    "AT_TIMES_THINGS",
    "CHANGING",
    "COMPOUND",
    "DESTROYING",
    "DOUBTFUL",
    "ENDS_IN",
    "HARMLESS_WITH",
    "IDIOMS",
    "INFLECTED",
    "MAKING",
    "MOSTLY_THINGS",
    "NOT_BEFORE",
    "NO_COMPOUND",
    "ORDINARY",
    "PLAINLY_READING",
    "READING",
    "SAID_READING",
    "SELDOM_THINGS",
    "TAKE_NOTHING",
    "THINGS",
]

READING = frozenset(
    {"get", "list", "search", "find", "fetch", "read", "query", "lookup", "retrieve", "show", "describe", "check",
     "count", "view", "browse", "inspect", "preview", "download", "export", "summarize", "calculate", "validate",
     "is", "has", "can", "explain", "compare", "analyze", "verify", "scan", "watch", "poll", "peek",
     "geocode", "translate", "extract", "parse", "estimate", "recommend", "suggest", "predict", "detect", "classify",
     "tokenize", "hash", "encode", "decode", "diff", "tail", "head", "grep", "ls", "trace", "measure",
     "observe", "explore", "discover", "locate", "identify", "match", "filter", "sum", "average", "what", "who",
     "where", "when", "how", "which", "does", "are", "display", "render", "plot", "visualize", "simulate",
     "compute", "determine", "infer", "analyse", "analyzer", "lint", "think", "guess", "whois", "research", "reader",
     "getter", "searcher", "finder", "viewer", "checker", "validator", "predictor", "calculator", "parser", "exists",
     "splitter", "lists", "summarise", "expect", "assert", "whoami", "now", "echo", "look", "see",
     "tell", "evaluate", "rank", "sort", "monitor", "weigh", "define", "ask", "answer", "transcribe", "nslookup", "scrape",
     "crawl", "enumerate", "obtain", "gather", "iterate", "proofread", "spellcheck", "ocr", "summarizer", "dig"}
)  # fmt: skip
HARMLESS_WITH = {
    "generate": frozenset(
        {"chart", "charts", "diagram", "graph", "plot", "map", "image", "images", "picture", "histogram", "summary",
         "text", "uuid", "hash", "embedding", "embeddings", "preview", "thumbnail", "schema", "canvas", "number"}
    ),
    "convert": frozenset(
        {"time", "timezone", "currency", "currencies", "unit", "units", "temperature", "money", "amount", "date",
         "price", "coordinates", "timestamp"}
    ),
    "load": frozenset({"all", "data", "dataset", "tickers", "history", "csv", "config"}),
    "take": frozenset({"screenshot", "screenshots"}),
    "clean": frozenset({"html", "text", "string"}),
    "build": frozenset({"context", "query", "url"}),
    "pull": frozenset({"request", "requests", "report", "reports", "data", "stats"}),
    "ping": frozenset(
        {"host", "hosts", "server", "servers", "ip", "url", "address", "domain", "service", "site", "website", "database",
         "db", "api", "endpoint", "node", "gateway", "test"}
    ),
    "track": frozenset(
        {"shipment", "package", "parcel", "order", "flight", "delivery", "price", "prices", "status", "packages",
         "shipments", "parcels", "location", "progress", "train", "vessel", "ship", "container"}
    ),
    "select": frozenset({"rows", "row", "columns", "records", "query", "data", "all", "from", "items"}),
    "recall": frozenset({"memory", "memories", "facts", "fact", "context", "knowledge", "notes", "note"}),
    "collect": frozenset({"stats", "statistics", "metrics", "logs", "data", "info", "information", "feedback"}),
    "solve": frozenset(
        {"equation", "equations", "puzzle", "problem", "system", "integral", "expression", "sudoku", "math", "maze"}
    ),
    "resolve": frozenset({"id", "ids", "name", "names", "address", "url", "dns", "domain", "hostname", "symbol"}),
    "open": frozenset({"details", "nodes"}),
}  # fmt: skip
"""Verbs that make something, and of what that leaves everything else as it was."""
DOUBTFUL = frozenset({"ping", "track", "select", "recall", "collect", "solve"})
"""What reads where nothing else is said, or the description reads: `ping`; `ping_user` bothers somebody."""
SAID_READING = (
    (READING - {"are", "can", "does", "has", "is", "how"})
    | DOUBTFUL
    | frozenset(
        {
            "return",
            "provide",
            "tell",
            "lookup",
            "look",
            "give",
            "output",
            "expose",
            "present",
            "offer",
            "supply",
            "report",
            "say",
            "convert",
            "format",
            "know",
            "learn",
            "contain",
            "access",
            "assess",
            "examine",
            "reveal",
            "query",
            "quote",
            "pull",
            "dump",
            "sample",
            "enumerate",
            "capture",
            "interpret",
            "transform",
            "load",
            "resolve",
            "navigate",
            "test",
            "score",
            "rate",
            "answer",
            "receive",
            "benchmark",
            "profile",
            "study",
            "understand",
            "survey",
            "decide",
            "forecast",
        }
    )
)
"""What the description of a tool begins with that only reads, or may."""
PLAINLY_READING = frozenset(
    {"get", "list", "search", "find", "fetch", "read", "query", "lookup", "retrieve", "show", "describe", "count", "view",
     "browse", "inspect", "preview", "summarize", "summarise", "calculate", "compute", "explain", "compare", "analyze",
     "analyse", "estimate", "recommend", "suggest", "predict", "forecast", "detect", "classify", "display", "look", "see",
     "tell", "provide", "determine", "locate", "examine", "assess", "enumerate", "obtain", "gather", "measure", "translate",
     "extract", "parse", "geocode", "whois", "transcribe", "visualize", "plot", "answer", "define", "infer", "hash",
     "encode", "decode", "tokenize", "diff", "grep", "monitor", "watch", "observe", "discover", "explore", "research",
     "understand", "learn", "check", "verify", "validate", "scrape", "crawl", "download", "identify", "expose", "reveal"}
)  # fmt: skip
"""Those of them that are said of hardly anything else: they count where the name has no verb that is known."""
DESTROYING = frozenset(
    {"delete", "remove", "drop", "cancel", "purge", "destroy", "erase", "revoke", "truncate", "terminate", "kill",
     "wipe", "uninstall", "unsubscribe", "refund", "reset", "discard", "clear", "void", "deactivate", "disable",
     "empty", "flush", "unlink", "expire", "ban", "archive", "detach", "reject", "del", "rm", "rmdir", "trash",
     "prune", "shred", "nuke", "overwrite", "invalidate", "suspend", "abort", "decommission", "deprovision",
     "undeploy", "unpublish", "unassign", "unshare", "unregister", "deregister", "evict", "kick", "dismiss",
     "decline", "deny", "forget", "rollback", "revert", "withdraw", "retire", "shutdown", "cleanup", "unset",
     "obliterate", "annul", "rescind", "delist", "deauthorize", "expel", "undo", "sell", "liquidate", "dequeue",
     "teardown", "consume", "scrap", "dismantle", "demolish", "disconnect", "unsend", "offboard",
     "uproot", "euthanize", "detonate", "exterminate", "eradicate", "incinerate", "annihilate", "expunge", "raze"}
)  # fmt: skip
CHANGING = DESTROYING | frozenset(
    {"create", "update", "add", "set", "send", "write", "post", "put", "insert", "edit", "modify", "patch", "book",
     "move", "rename", "upload", "publish", "submit", "approve", "close", "open", "assign", "merge", "push",
     "commit", "pay", "charge", "transfer", "buy", "order", "reply", "enable", "start", "stop",
     "restart", "run", "execute", "deploy", "install", "register", "invite", "schedule", "save", "store", "upsert",
     "make", "place", "change", "replace", "purchase", "reserve", "activate", "reboot", "block", "unblock", "lock",
     "unlock", "restore", "undelete", "subscribe", "share", "grant", "attach", "import", "sync", "trigger", "launch",
     "checkout", "forward", "notify", "email", "mail", "release", "leave", "join", "append", "resolve", "reopen",
     "convert", "copy", "clone", "fork", "issue", "withhold", "reschedule", "redeem", "apply", "confirm", "sign",
     "provision", "toggle", "trade", "swap", "ship", "dispatch", "return", "process", "fire", "hire", "promote",
     "demote", "burn", "mint", "accept", "authorize", "finalize", "mute", "unmute", "flag", "unflag", "pop", "drain",
     "take", "scale", "resize", "rotate", "power", "turn", "mark", "tweet", "retweet", "spam", "complete", "escalate",
     "upgrade", "downgrade", "regenerate", "generate", "refresh", "rebuild", "reindex", "retry", "requeue", "enqueue",
     "pause", "resume", "play", "skip", "record", "call", "dial", "text", "message", "fill", "click", "press", "type",
     "drag", "navigate", "scroll", "switch", "init", "initialize", "setup", "configure", "adjust", "increase",
     "decrease", "raise", "lower", "bump", "increment", "decrement", "freeze", "unfreeze", "stake", "unstake", "vote",
     "bid", "donate", "tip", "lend", "borrow", "rent", "lease", "hold", "begin", "end", "finish", "login", "logout",
     "connect", "mount", "unmount", "format", "manage", "populate", "optimize", "protect", "unprotect", "customize",
     "give", "report", "draft", "compose", "announce", "broadcast", "alert", "remind", "snooze", "acknowledge", "ack",
     "claim", "earn", "award", "bill", "invoice", "debit", "credit", "deposit", "fund", "refill", "recharge",
     "restock", "reorder", "exchange", "link", "tag", "untag", "pin", "unpin", "star", "unstar", "like", "unlike",
     "follow", "unfollow", "react", "rate", "review", "score", "grade", "comment", "annotate", "label", "route",
     "redirect", "allow", "permit", "exclude", "enroll", "onboard", "migrate", "ingest", "index", "backup", "snapshot",
     "recover", "repair", "fix", "control", "operate", "drive", "heat", "dim", "inject", "eject", "load", "unload",
     "spawn", "invoke", "perform", "do", "go", "deliver", "allocate", "deallocate", "delegate", "nominate", "train",
     "enforce", "waive", "settle", "reconcile", "log", "file", "print", "stamp", "request", "name", "price", "stock",
     "group", "table", "document", "note", "ticket", "transition", "partition", "commission", "reverse", "new",
     "insure", "crop", "trim", "compress", "encrypt", "split", "combine", "transform", "build", "compile", "step",
     "evaluate", "exec", "eval", "test", "hover", "focus", "discharge", "hibernate", "expedite", "writeoff",
     "furlough", "zap", "sweep", "impersonate", "renew", "extend", "evacuate", "quarantine", "isolate",
     "admit", "prescribe", "vaccinate", "relocate", "reassign", "repay", "reimburse", "fine", "punch", "unstage",
     "stage", "stash", "rebase", "pardon", "ground", "seize", "confiscate", "impound", "tow", "blacklist", "whitelist",
     "wake", "sleep", "ignite", "arm", "disarm", "feed", "water", "brew", "cook", "bake", "wash", "clean",
     "assemble", "recycle", "reissue", "reassess", "requisition", "repossess", "foreclose", "evolve", "breed", "sack",
     "bring", "prepend", "free", "unarchive", "redo", "sanitize", "purify", "boost", "throttle"}
)  # fmt: skip

ACTS = {
    "deletion": "delete", "cancellation": "cancel", "cancelation": "cancel", "removal": "remove", "erasure": "erase",
    "replacement": "replace", "termination": "terminate", "creation": "create", "approval": "approve",
    "activation": "activate", "deactivation": "deactivate", "revocation": "revoke", "destruction": "destroy",
    "placement": "place", "settlement": "settle", "renewal": "renew", "insertion": "insert", "dismissal": "dismiss",
    "suspension": "suspend", "rejection": "reject", "withdrawal": "withdraw", "acceptance": "accept",
    "disposal": "scrap", "reversal": "reverse", "enrollment": "enroll", "enrolment": "enroll",
    "installation": "install", "uninstallation": "uninstall", "submission": "submit", "transmission": "send",
    "modification": "modify", "reassignment": "reassign", "assignment": "assign", "relocation": "relocate",
    "repayment": "repay", "reimbursement": "reimburse", "adjustment": "adjust", "disconnection": "disconnect",
    "payout": "pay", "execution": "execute", "eviction": "evict", "expulsion": "expel", "demolition": "demolish",
    "confiscation": "confiscate", "conveyance": "transfer", "issuance": "issue", "rescheduling": "reschedule",
    "closure": "close", "shutoff": "shutdown", "foreclosure": "foreclose",
}  # fmt: skip
"""Nouns for what is done, and the verb; those that are rather what comes of it (`payment`, `booking`) are not here."""
AGENTS = {
    "creator": "create", "merger": "merge", "opener": "open", "closer": "close", "remover": "remove",
    "deleter": "delete", "updater": "update", "uploader": "upload", "cleaner": "clean", "eraser": "erase",
    "killer": "kill", "writer": "write", "installer": "install", "executor": "execute", "inserter": "insert",
    "adder": "add", "renamer": "rename", "mover": "move", "copier": "copy", "setter": "set",
    "mailer": "mail", "purger": "purge", "wiper": "wipe", "shredder": "shred", "canceller": "cancel",
    "canceler": "cancel", "destroyer": "destroy", "terminator": "terminate", "modifier": "modify",
    "replacer": "replace", "saver": "save", "archiver": "archive", "deployer": "deploy",
    "launcher": "launch", "starter": "start", "stopper": "stop", "restarter": "restart", "unlocker": "unlock",
    "locker": "lock", "booker": "book",
}  # fmt: skip
"""What does something, and the verb: it ends the name of a tool, and is seldom a person there."""

MAKING = frozenset(
    {"create", "add", "make", "insert", "book", "reserve", "order", "buy", "purchase", "send", "post", "email", "mail",
     "generate", "place", "pay", "charge", "transfer", "ship", "dispatch", "deliver", "issue", "new", "submit",
     "register", "schedule", "publish", "notify", "message", "reply", "forward", "share", "invite", "print", "copy",
     "clone", "import", "upload", "append", "subscribe", "checkout", "compose", "draft", "announce", "broadcast",
     "donate", "deposit", "trade", "sell", "exchange", "call", "dial", "text", "tweet", "log", "record", "build"}
)  # fmt: skip
"""Those that make or send something, of what is there: the others change what is there."""

ORDINARY = (MAKING - {"sell", "trade"}) | frozenset(
    {"update", "set", "edit", "modify", "change", "patch", "put", "upsert", "write", "save", "store", "rename", "move",
     "assign", "reassign", "tag", "untag", "label", "comment", "annotate", "pin", "unpin", "star", "unstar", "like",
     "unlike", "follow", "unfollow", "rate", "review", "vote", "approve", "accept", "confirm", "acknowledge", "complete",
     "mark", "flag", "unflag", "open", "reopen", "close", "resolve", "start", "stop", "restart", "reboot", "run",
     "execute", "launch", "trigger", "deploy", "enable", "activate", "join", "attach", "link", "merge", "push", "commit",
     "lock", "unlock", "mute", "unmute", "play", "pause", "resume", "skip", "switch", "turn", "toggle", "adjust",
     "increase", "decrease", "raise", "lower", "renew", "extend", "reschedule", "snooze", "remind", "alert", "escalate",
     "promote", "enroll", "onboard", "grant", "allow", "restore", "undelete", "unarchive", "recover", "retry", "refresh",
     "sync", "backup", "snapshot", "water", "feed", "heat", "dim", "wake", "fork", "convert", "insure", "claim", "refill",
     "restock", "reorder", "block", "unblock", "hire", "provision", "cook", "brew", "bake", "wash", "note", "document", "file", "bill",
     "invoice", "click", "type", "fill", "press", "navigate", "scroll", "hover", "focus", "drag", "connect", "mount"}
)  # fmt: skip
"""What a goal in words may lead to: what is made, sent, or can be set back. Any other verb may destroy something."""

THINGS = frozenset(
    {"order", "store", "post", "schedule", "commit", "charge", "refund", "archive", "book", "reset", "ban", "void",
     "trash", "transfer", "purchase", "block", "place", "share", "email", "mail", "release", "leave", "issue", "fork",
     "reserve", "empty", "clear", "checkout", "trigger", "launch", "grant", "clone", "sign", "bill", "invoice",
     "debit", "credit", "deposit", "fund", "tag", "comment", "review", "score", "grade", "route", "log", "file",
     "price", "stock", "group", "table", "document", "note", "ticket", "report", "record", "message", "text", "alert",
     "index", "exchange", "trade", "name", "request", "claim", "award", "label", "rate", "snapshot", "backup",
     "play", "call", "build", "test", "step", "type", "draft", "partition", "commission", "transition", "water",
     "ground", "arm", "stage", "feed"}
)  # fmt: skip
"""What is a thing, or says what one is like, as well."""
MOSTLY_THINGS = frozenset(
    {"stock", "price", "rate", "score", "grade", "name", "schedule", "store", "document", "file", "ticket", "invoice",
     "bill", "comment", "review", "message", "note", "report", "table", "group", "tag", "text", "index", "route",
     "exchange", "log", "type", "fund", "credit", "alert", "label"}
)  # fmt: skip
"""What is rather a thing where it is all that a tool is called."""
SELDOM_THINGS = frozenset(
    {"ship", "return", "process", "fire", "burn", "flag", "pop", "scale", "power", "spam", "vote", "bid", "tip",
     "rent", "lease", "hold", "end", "link", "pin", "star", "like", "fix", "control", "drive", "heat", "train",
     "print", "stamp", "stake", "format", "reverse", "dispatch", "mint", "drain", "sync", "deploy", "import", "merge",
     "push", "install", "move", "free", "fine", "sleep", "clean", "discharge",
     "sweep", "wake", "tow", "boost"}
)  # fmt: skip
"""What is a thing only where what tells about one comes behind it: `return_policy`, `power_usage`."""
TAKE_NOTHING = frozenset(
    {"checkout", "clone", "fork", "launch", "trigger", "release", "sign", "reserve", "share", "grant", "leave",
     "issue", "block", "call", "play", "build", "test", "step", "commit", "charge", "purchase", "transfer", "backup",
     "snapshot", "record"}
)  # fmt: skip
"""Of the things, those that are done even where a tool that is called so takes nothing."""
AT_TIMES_THINGS = THINGS | SELDOM_THINGS | frozenset(
    {"update", "set", "open", "close", "start", "stop", "put", "buy", "run", "merge", "reply", "push", "change",
     "copy", "import", "patch", "lock", "forward", "sync", "kick", "invite", "edit", "move", "drop", "reject",
     "install", "write", "save", "commit", "new", "turn", "mark", "fill", "press", "switch", "complete", "focus",
     "redirect", "control", "tweet", "upgrade", "downgrade", "request", "setup", "init", "config", "snooze"}
)  # fmt: skip
"""What is one in a sentence, or behind a verb that reads; where it leads a tool's name it is what that does."""

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

IDIOMS = {
    ("get", "rid"): "remove",
    ("check", "off"): "complete",
    ("check", "in"): "checkout",
    ("check", "out"): "checkout",
}
"""Words that do something else together than the first alone."""

ALIKE = (
    frozenset(
        {"delete", "remove", "erase", "destroy", "drop", "purge", "wipe", "trash", "del", "rm", "unlink"}
    ),
    frozenset({"cancel", "abort", "annul", "void"}),
    frozenset({"create", "add", "make", "insert", "place", "generate", "new"}),
    frozenset({"update", "edit", "modify", "change", "set", "patch", "put", "upsert"}),
    frozenset({"send", "email", "mail", "post"}),
    frozenset({"book", "reserve"}),
    frozenset({"buy", "purchase", "order"}),
    frozenset({"ship", "dispatch", "deliver"}),
    frozenset({"sell", "liquidate"}),
    frozenset({"switch", "turn", "toggle", "power"}),
    frozenset({"refund", "reimburse"}),
    frozenset({"disable", "deactivate"}),
    frozenset({"enable", "activate"}),
    frozenset({"clear", "empty", "flush"}),
    frozenset({"start", "launch", "run", "execute", "trigger"}),
    frozenset({"stop", "terminate", "kill", "shutdown"}),
    frozenset({"close", "resolve"}),
    frozenset({"restart", "reboot"}),
    frozenset({"save", "store", "write"}),
    frozenset({"reject", "decline", "deny"}),
    frozenset({"revoke", "withdraw"}),
)
"""Verbs that are said for one another."""
