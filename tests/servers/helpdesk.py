"""A help desk with a shop and a calendar: a server whose outputs are declared richly, in all the ways that servers do it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from by_hand import offering, serve  # type: ignore[import-not-found]
from helpdesk_book import Book, RefusedError  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
DATE: Schema = {"type": "string", "format": "date"}
MOMENT: Schema = {"type": "string", "format": "date-time"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
STATUS: Schema = {"type": "string", "enum": ["open", "pending", "closed"]}
PRIORITY: Schema = {"type": "string", "enum": ["low", "normal", "high", "urgent"]}
TEAM: Schema = {"type": "string", "enum": ["support", "billing", "platform"]}
CURRENCY: Schema = {"type": "string", "enum": ["EUR", "USD", "GBP"]}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def opened(required: str = "", **properties: Schema) -> Schema:
    """An object that may have further keys."""
    schema: Schema = {"type": "object", "properties": properties}
    return schema | {"required": required.split()} if required else schema


def closed(optional: str = "", **properties: Schema) -> Schema:
    """An object that has these keys and no others."""
    required = [name for name in properties if name not in optional.split()]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def tagged(kind: str, **properties: Schema) -> Schema:
    return closed("", kind={"const": kind}, at=MOMENT, **properties)


TICKET = closed(
    id=INTEGER,
    title=STRING,
    status=STATUS,
    priority=PRIORITY,
    assignee={"anyOf": [STRING, {"type": "null"}]},
    tags=array(STRING),
    created=DATE,
    updated=MOMENT,
    estimate_hours={"type": ["number", "null"]},
    customer=closed(
        name=STRING, email=STRING, plan={"type": "string", "enum": ["free", "team", "enterprise"]}
    ),
)
COMMENT = closed(author=STRING, text=STRING, at=MOMENT, internal=BOOLEAN)
PERSON = closed(
    login=STRING,
    name=STRING,
    team=TEAM,
    on_call=BOOLEAN,
    manager=TEXT_OR_NULL,
    skills={"type": "object", "additionalProperties": INTEGER},
)
EVENT = {
    "oneOf": [
        tagged("opened", by=STRING),
        tagged("moved", old=STATUS, new=STATUS),
        tagged("commented", by=STRING, text=STRING),
        tagged("assigned", to=TEXT_OR_NULL),
    ]
}
MEETING = opened(
    "id title starts minutes attendees",
    id=STRING,
    title=STRING,
    starts=MOMENT,
    minutes=INTEGER,
    attendees=array(STRING),
    room={"oneOf": [closed(name=STRING, floor=INTEGER, seats=INTEGER), {"type": "null"}]},
    cancelled=BOOLEAN,
)
TREE = {
    "$ref": "#/$defs/Category",
    "$defs": {
        "Category": closed(
            slug=STRING, label=STRING, openTickets=INTEGER, children=array({"$ref": "#/$defs/Category"})
        )
    },
}


def tool(
    name: str, description: str, required: str, takes: dict[str, Schema], gives: Schema | None
) -> dict[str, Any]:
    made = {"name": name, "description": description, "inputSchema": opened(required, **takes)}
    return made if gives is None else {**made, "outputSchema": gives}


LIMIT = {"type": "integer", "minimum": 1, "maximum": 50, "default": 20}
TICKET_ID = {"type": "integer", "description": "The id that list_tickets gives"}
TOOLS = [
    tool(
        "list_tickets",
        "List tickets, newest first, a page at a time; pass next_cursor as cursor until it is null.",
        "",
        {
            "status": STATUS,
            "priority": PRIORITY,
            "assignee": TEXT_OR_NULL,
            "limit": LIMIT,
            "cursor": TEXT_OR_NULL | {"default": None},
        },
        closed(tickets=array(TICKET), total=INTEGER, next_cursor=TEXT_OR_NULL),
    ),
    tool(
        "get_ticket",
        "Get one ticket with its comments. The metadata is free.",
        "ticket_id",
        {"ticket_id": TICKET_ID},
        opened(
            "id title status priority comments metadata",
            **TICKET["properties"],
            comments=array(COMMENT),
            metadata={"type": "object", "additionalProperties": STRING},
        ),
    ),
    tool(
        "create_ticket",
        "Open a ticket.",
        "title body",
        {
            "title": STRING,
            "body": STRING,
            "priority": PRIORITY | {"default": "normal"},
            "tags": array(STRING) | {"default": []},
            "due": {"anyOf": [DATE, {"type": "null"}], "default": None},
        },
        closed(id=INTEGER, status=STATUS, url={"type": "string", "format": "uri"}),
    ),
    tool(
        "update_ticket",
        "Change some fields of a ticket.",
        "ticket_id changes",
        {
            "ticket_id": TICKET_ID,
            "changes": closed(
                "status priority assignee estimate_hours",
                status=STATUS,
                priority=PRIORITY,
                assignee=TEXT_OR_NULL,
                estimate_hours=NUMBER,
            ),
        },
        closed(id=INTEGER, changed=array(STRING)),
    ),
    tool(
        "add_comment",
        "Comment on a ticket; internal comments are not shown to the customer.",
        "ticket_id text",
        {"ticket_id": TICKET_ID, "text": STRING, "internal": BOOLEAN | {"default": False}},
        COMMENT,
    ),
    tool(
        "escalate",
        "Escalate an open ticket to whoever is on call. Fails for closed ones.",
        "ticket_id reason",
        {"ticket_id": TICKET_ID, "reason": STRING},
        closed(ticket_id=INTEGER, escalated_to=STRING, level=INTEGER),
    ),
    tool(
        "ticket_events",
        "What happened to a ticket, oldest first; each event's kind says what else it has.",
        "ticket_id",
        {"ticket_id": TICKET_ID},
        closed(events=array(EVENT)),
    ),
    tool(
        "list_people",
        "Everybody at the desk, or one team.",
        "",
        {"team": TEAM},
        {"type": "object", "properties": {"result": array(PERSON)}, "required": ["result"]},
    ),
    tool(
        "count_tickets",
        "Count tickets by a field: its values are the keys.",
        "by",
        {"by": {"type": "string", "enum": ["status", "priority", "assignee", "plan"]}},
        {"type": "object", "additionalProperties": INTEGER},
    ),
    tool(
        "sla_hours",
        "Within how many hours a ticket of this priority has to be answered.",
        "priority",
        {"priority": PRIORITY},
        {"type": "object", "properties": {"result": NUMBER}, "required": ["result"]},
    ),
    tool("category_tree", "The categories of tickets, as a tree.", "", {"depth": INTEGER}, TREE),
    tool(
        "calendar",
        "Meetings from a day on.",
        "start",
        {"start": DATE, "days": INTEGER | {"default": 7}, "include_cancelled": BOOLEAN | {"default": False}},
        closed(meetings=array(MEETING), timezone=STRING),
    ),
    tool(
        "book_meeting",
        "Book a meeting; says what it collides with instead, if it does.",
        "title starts attendees",
        {
            "title": STRING,
            "starts": MOMENT,
            "attendees": array(STRING),
            "minutes": {"type": "integer", "enum": [15, 30, 60], "default": 30},
        },
        closed(
            "meeting_id",
            booked=BOOLEAN,
            meeting_id=STRING,
            conflicts=array(closed(login=STRING, meeting=STRING)),
        ),
    ),
    tool(
        "quote",
        "Price an order.",
        "items currency",
        {
            "items": array(closed(sku=STRING, quantity=INTEGER)),
            "currency": CURRENCY,
            "discount_percent": NUMBER | {"default": 0},
        },
        opened(
            "lines total currency",
            lines=array(
                opened(
                    "sku quantity unitPrice lineTotal",
                    sku=STRING,
                    quantity=INTEGER,
                    unitPrice=NUMBER,
                    lineTotal=NUMBER,
                )
            ),
            total=NUMBER,
            currency=CURRENCY,
        ),
    ),
    tool(
        "product",
        "One product of the shop.",
        "sku",
        {"sku": STRING},
        opened(
            "sku name price inStock",
            sku=STRING,
            name=STRING,
            price=NUMBER,
            inStock=INTEGER,
            supplier=closed(name=STRING, country=STRING),
            attributes={"type": "object"},
        ),
    ),
    tool("list_skus", "The products that the shop has.", "", {}, None),
    tool("search_notes", "Search the team's notes.", "query", {"query": STRING, "limit": INTEGER}, None),
    tool(
        "export_csv",
        "Export all tickets as CSV.",
        "",
        {"separator": {"type": "string", "enum": [",", ";"], "default": ","}},
        None,
    ),
]


BY_NAME = {one["name"]: one for one in TOOLS}
BOOK = Book()


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer: Callable[..., Any] = getattr(BOOK, name)
    try:
        unknown = arguments.keys() - BY_NAME[name]["inputSchema"]["properties"].keys()
        if unknown:
            raise RefusedError(f"Unknown arguments: {', '.join(sorted(unknown))}.")  # noqa: TRY301
        value = answer(**arguments)
    except RefusedError as refusal:
        return {"content": [{"type": "text", "text": str(refusal)}], "isError": True}
    schema = BY_NAME[name].get("outputSchema")
    if schema is not None and list(schema.get("properties", ())) == ["result"]:
        value = {"result": value}
    said = value if isinstance(value, str) else json.dumps(value)
    structured = {} if schema is None else {"structuredContent": value}
    return {"content": [{"type": "text", "text": said}], **structured}


if __name__ == "__main__":
    serve(offering("helpdesk", lambda: TOOLS, call))
