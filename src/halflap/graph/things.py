"""The words in tools' names that name a thing, or say what one is like: a name of these alone says what is told."""

from __future__ import annotations

import re

__all__ = ["PRODUCTS", "REPORTS", "TELLS", "is_thing"]

TELLS = frozenset(
    {"history", "histories", "detail", "details", "info", "information", "summary", "overview", "stats", "statistics",
     "metadata", "forecast", "forecasts", "usage", "tree", "availability", "timeline", "ranking", "rankings",
     "trend", "trends", "analytics", "directory", "weather", "insights",
     "conditions", "timetable", "headlines", "news"}
)  # fmt: skip
"""What ends the name of a tool that tells about something, whatever that is called."""
REPORTS = TELLS | frozenset(
    {"list", "lists", "status", "statuses", "count", "counts", "report", "reports", "log", "logs", "item", "items",
     "id", "ids", "by", "of", "for", "search", "lookup", "schema", "type", "types", "total", "totals", "price",
     "prices", "number", "tracking", "comments", "author", "authors", "names", "name", "rate", "rates", "policy",
     "policies", "balance", "date", "dates", "level", "quote", "quotes", "volume", "cap", "market", "lines", "fields",
     "contents", "owner", "size", "version", "versions", "rank", "score", "scores", "value", "url", "hours"}
)  # fmt: skip
"""What comes behind a thing that a tool tells about: `order_status`."""

_THINGS = frozenset(
    {"account", "activity", "address", "agent", "album", "analysis", "api", "app",
     "application", "appointment", "area", "article", "artist", "asset", "author", "bank", "basket", "benefit",
     "board", "body", "branch", "brand", "bucket", "budget", "bus", "business", "calendar", "campaign", "card", "cart",
     "catalog", "category", "channel", "chapter", "city", "claim", "class", "client", "cluster", "code", "company",
     "component", "contact", "container", "context", "contract", "cost", "country", "coupon", "course", "crypto",
     "currency", "customer", "data", "database", "dataset", "day", "deal", "dependency", "device", "disk",
     "doctor", "domain", "driver", "email", "employee", "endpoint", "entity", "entry", "environment",
     "error", "event", "expense", "feature", "field", "flight", "floor", "folder", "forecast", "game", "genre",
     "graph", "guest", "guide", "holding", "holiday", "host", "hotel", "house", "icon", "image", "incident",
     "income", "ingredient", "instance", "inventory", "item", "job", "journal", "key", "language", "law", "lead", "license", "licence",
     "league", "ledger", "lesson", "library", "light", "listing", "loan", "location", "machine", "manager", "map",
     "market", "match", "meal", "media", "meeting", "member", "menu", "merchant", "metric", "milestone", "model",
     "money", "month", "movie", "music", "namespace", "network", "node", "notification", "object", "office",
     "option", "organization", "owner", "package", "page", "parcel", "park", "partner", "patient", "payment",
     "payroll", "people", "permission", "person", "pet", "phone", "photo", "picture", "pipeline", "player",
     "playlist", "pod", "podcast", "policy", "portfolio", "problem", "product", "profile", "project", "property",
     "provider", "quality", "quota", "recipe", "region", "repo", "repository", "reservation", "resource", "restaurant",
     "result", "revenue", "role", "room", "rule", "sales", "salary", "schema", "school", "season", "seat", "secret",
     "sensor", "server", "service", "session", "shipment", "shop", "site", "size", "song", "source",
     "space", "sport", "staff", "station", "story", "stream", "street", "student", "subject", "subscription", "supplier",
     "support", "symbol", "system", "task", "tax", "teacher", "team", "template", "tenant", "term", "theater", "theme",
     "thing", "thread", "time", "timezone", "token", "tool", "topic", "traffic", "transaction", "trip",
     "usage", "user", "vehicle", "vendor", "venue", "version", "video", "visit", "wallet", "warehouse",
     "weather", "web", "webpage", "website", "week", "wiki", "word", "worker", "workflow", "workspace", "world",
     "year", "zone", "html", "pdf", "csv", "json", "xml", "docx", "xlsx", "excel", "txt", "markdown", "url", "ip", "dns",
     "sku", "npm", "pypi", "kpi", "gps", "health", "hello", "help", "manual", "docs",
     "status", "info", "air", "sun", "moon", "sunrise", "sunset", "tide", "temperature", "humidity", "wind", "rain",
     "population", "history", "prompt", "svg", "diff",
     "screenshot", "screenshots", "snapshot", "snapshots", "pupil", "homework", "attendance", "parent", "port", "berth",
     "departure", "arrival", "distance", "quote", "slot", "evening", "depth", "fee", "trail", "audit", "access", "vm",
     "detail", "definition", "sentiment", "direction", "vessel", "dock", "ward", "bed", "nurse",
     "receipt", "letter", "statement", "balance", "fare", "bill", "grade", "exam", "timetable", "clinic",
     "allergy", "lab", "gauge", "valve", "tank", "pump", "tenancy", "mailbox", "inbox", "sms", "quiz", "pilot"}
)  # fmt: skip
_LIKE = frozenset(
    {"top", "latest", "recent", "current", "all", "my", "our", "your", "best", "worst", "upcoming", "available",
     "active", "inactive", "nearby", "nearest", "closest", "daily", "weekly", "monthly", "hourly", "yearly", "annual",
     "today", "tomorrow", "yesterday", "live", "popular", "trending", "related", "similar", "open", "closed",
     "pending", "overdue", "unread", "cancelled", "canceled", "deleted", "archived", "completed", "failed", "last",
     "first", "oldest", "newest", "total", "random", "secure", "global", "local", "public", "private", "historical",
     "sequential", "supported", "known", "installed", "assigned", "shared", "remaining", "common", "full",
     "about", "in", "by", "of", "free", "hot", "new", "old", "busy", "late", "cheap", "cheapest", "next", "previous"}
)  # fmt: skip
"""What says which, or what something is like."""
PRODUCTS = frozenset(
    {"git", "github", "gitlab", "bitbucket", "jira", "confluence", "slack", "notion", "stripe", "shopify", "aws", "gcp",
     "azure", "docker", "kubectl", "k8s", "helm", "google", "gmail", "gcal", "gdrive", "twitter", "discord", "telegram",
     "linear", "asana", "trello", "hubspot", "salesforce", "zendesk", "sentry", "datadog", "pagerduty", "figma",
     "airtable", "supabase", "postgres", "mysql", "mongodb", "redis", "sqlite", "snowflake", "bigquery", "spotify",
     "youtube", "reddit", "linkedin", "paypal", "square", "twilio", "sendgrid", "mailchimp", "dropbox", "wikipedia",
     "mcp"}
)  # fmt: skip
"""What stands before a tool's own name, though its server is called something else."""
_MADE_TO_THINGS = re.compile(
    r".{2,}(?:ations?|itions?|uctions?|ections?|options?|ptions?|utions?|ments?|ness|ities|ity|ship|ology|graphy|ancy|ency|"
    r"isms?|ists?|hood|logs|als|ics|tics|ings?)"
)
_DONE_ALL_THE_SAME = frozenset(
    {"ration", "petition", "position", "reposition", "condition", "partition", "requisition", "auction", "station",
     "transition", "mention", "caution", "section", "function", "question", "implement", "supplement", "augment",
     "document", "comment", "increment", "decrement", "experiment", "fragment", "segment", "complement", "cement",
     "ship", "tranship", "transship", "ring", "bring", "string", "fling", "sling", "sing", "ping", "wing", "swing",
     "list", "enlist", "delist", "assist", "resist", "insist", "persist", "twist", "hoist", "consist", "exist",
     "worship", "king", "sting", "audition", "commission", "sanction", "apportion", "vacation"}
)  # fmt: skip
"""What ends like a thing and can be a verb."""


def is_thing(word: str) -> bool:
    """Say whether a word is known to name a thing or to say what one is like, and is no verb that changes something."""
    if word in _THINGS or word in _LIKE or word in TELLS:
        return True
    if word.endswith("s") and word[:-1] in _THINGS:
        return True
    if word.endswith("ies") and f"{word[:-3]}y" in _THINGS:
        return True
    return word not in _DONE_ALL_THE_SAME and _MADE_TO_THINGS.fullmatch(word) is not None
