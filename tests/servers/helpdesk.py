"""A help desk with a shop and a calendar: a server whose results are declared richly, and always the same."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import Any

from declared import (  # type: ignore[import-not-found]
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    Given,
    Schema,
    Tool,
    array,
    by_name,
    closed,
    nullable,
    one_of,
    opened,
    serve_tools,
)

DATE: Schema = {"type": "string", "format": "date"}
MOMENT: Schema = {"type": "string", "format": "date-time"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
STATUS = one_of("open", "pending", "closed")
PRIORITY = one_of("low", "normal", "high", "urgent")
TEAM = one_of("support", "billing", "platform")
CURRENCY = one_of("EUR", "USD", "GBP")
TICKET = closed(
    id=INTEGER,
    title=STRING,
    status=STATUS,
    priority=PRIORITY,
    assignee=nullable(STRING),
    tags=array(STRING),
    created=DATE,
    updated=MOMENT,
    estimate_hours={"type": ["number", "null"]},
    customer=closed(name=STRING, email=STRING, plan=one_of("free", "team", "enterprise")),
)
COMMENT = closed(author=STRING, text=STRING, at=MOMENT, internal=BOOLEAN)
PERSON = closed(
    login=STRING, name=STRING, team=TEAM, on_call=BOOLEAN, manager=TEXT_OR_NULL, skills=by_name(INTEGER)
)


def tagged(kind: str, **properties: Schema) -> Schema:
    return closed(kind={"const": kind}, at=MOMENT, **properties)


EVENT = {
    "oneOf": [
        tagged("opened", by=STRING),
        tagged("moved", old=STATUS, new=STATUS),
        tagged("commented", by=STRING, text=STRING),
        tagged("assigned", to=TEXT_OR_NULL),
    ]
}
MEETING = opened(
    "room cancelled",
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

TODAY = date(2026, 6, 30)
NOW = f"{TODAY}T18:00:00Z"
RATES = {"EUR": 1.0, "USD": 1.1, "GBP": 0.85}
SLA = {"low": 72.0, "normal": 24.0, "high": 8.0, "urgent": 1.5}
ANYONE = "*"
TITLES = ("Cannot log in after reset", "Invoice shows the wrong VAT", "Export never finishes")
TAGS: tuple[list[str], ...] = (["login", "urgent-customer"], ["billing"], ["export", "performance"], [])
CUSTOMERS = (
    {"name": "Mara Olsen", "email": "mara@fjord.example", "plan": "enterprise"},
    {"name": "Teo Brandt", "email": "teo@kiln.example", "plan": "team"},
    {"name": "Ada Nwosu", "email": "ada@loom.example", "plan": "free"},
)
PEOPLE: list[dict[str, Any]] = [
    {"login": "ines", "name": "Ines Roth", "team": "support", "on_call": True, "manager": None, "skills": {"login": 5, "export": 2}},
    {"login": "jonas", "name": "Jonas Pell", "team": "support", "on_call": False, "manager": "ines", "skills": {"search": 4}},
    {"login": "kofi", "name": "Kofi Asante", "team": "billing", "on_call": False, "manager": "ines", "skills": {"billing": 5, "privacy": 3}},
    {"login": "lucia", "name": "Lucia Ferro", "team": "platform", "on_call": True, "manager": "ines", "skills": {"export": 5, "search": 3}},
]  # fmt: skip
PRODUCTS: dict[str, dict[str, Any]] = {
    "LAMP-1": {"name": "Desk lamp", "price": 39.9, "inStock": 12, "attributes": {"watt": 7, "colours": ["black", "white"]}},
    "CHAIR-2": {"name": "Office chair", "price": 249.0, "inStock": 3, "attributes": {"weightKg": 14.5}, "supplier": {"name": "Sella", "country": "IT"}},
    "MUG-3": {"name": "Mug", "price": 8.5, "inStock": 0, "attributes": {}},
    "DESK-4": {"name": "Standing desk", "price": 610.0, "inStock": 5, "supplier": {"name": "Boreal", "country": "FI"}},
}  # fmt: skip
NOTES = (
    {"title": "Resetting two-factor codes", "body": "Ask for the backup code first.", "views": 31},
    {"title": "When an export hangs", "body": "Look at the queue; restart the worker.", "views": 12},
    {"title": "Refund or credit note", "body": "Refund only within the same month.", "author": "kofi"},
)
COMMENTS = [{"author": "ines", "text": "We are looking into it.", "at": NOW, "internal": False}]
MEETINGS = (
    {"id": "M-1", "title": "Stand-up", "minutes": 15, "room": {"name": "Harbour", "floor": 2, "seats": 8}},
    {"id": "M-2", "title": "Customer call", "minutes": 30, "room": None},
    {"id": "M-3", "title": "Review", "minutes": 60, "cancelled": True},
)


def ticket(number: int) -> dict[str, Any]:
    created = TODAY - timedelta(days=3 * (25 - number))
    return {
        "id": 100 + number,
        "title": TITLES[number % 3],
        "status": STATUS["enum"][number * 7 % 5 % 3],
        "priority": PRIORITY["enum"][number * 5 % 4],
        "assignee": ["ines", None, "kofi", "lucia", "jonas"][number % 5],
        "tags": TAGS[number % 4],
        "created": created.isoformat(),
        "updated": f"{created + timedelta(days=number % 3)}T{8 + number % 10:02}:15:00Z",
        "estimate_hours": None if number % 4 == 0 else number % 7 + 0.5,
        "customer": CUSTOMERS[number % 3],
    }


TICKETS = {one["id"]: one for one in map(ticket, range(24, 0, -1))}


def list_tickets(given: Given) -> Any:
    found = [
        one
        for one in TICKETS.values()
        if given.get("status") in {None, one["status"]}
        and given.get("priority") in {None, one["priority"]}
        and given.get("assignee", ANYONE) in {ANYONE, one["assignee"]}
    ]
    start = int((given.get("cursor") or "at-0").removeprefix("at-"))
    end = start + given.get("limit", 20)
    following = f"at-{end}" if end < len(found) else None
    return {"tickets": found[start:end], "total": len(found), "next_cursor": following}


def get_ticket(given: Given) -> Any:
    return {**TICKETS[given["ticket_id"]], "comments": COMMENTS[:1], "metadata": {"channel": "mail"}}


def add_comment(given: Given) -> Any:
    made = {"author": "agent", "text": given["text"], "at": NOW, "internal": given.get("internal", False)}
    COMMENTS.insert(0, made)
    return made


def escalate(given: Given) -> Any:
    number = given["ticket_id"]
    if TICKETS[number]["status"] == "closed":
        raise LookupError(f"Ticket {number} is closed; reopen it before you escalate it.")
    return {"ticket_id": number, "escalated_to": "ines", "level": 1}


def ticket_events(given: Given) -> Any:
    one = TICKETS[given["ticket_id"]]
    events: list[dict[str, Any]] = [
        {"kind": "opened", "at": f"{one['created']}T08:00:00Z", "by": one["customer"]["name"]},
        {"kind": "assigned", "at": f"{one['created']}T09:00:00Z", "to": one["assignee"]},
        {"kind": "commented", "at": NOW, "by": "ines", "text": "We are looking into it."},
    ]
    if one["status"] != "open":
        events.append({"kind": "moved", "at": one["updated"], "old": "open", "new": one["status"]})
    return {"events": events}


def count_tickets(given: Given) -> Any:
    by = given["by"]
    values = (one["customer"]["plan"] if by == "plan" else one[by] for one in TICKETS.values())
    return dict(Counter(value or "unassigned" for value in values))


def category(slug: str, *children: dict[str, Any]) -> dict[str, Any]:
    return {"slug": slug, "label": slug.title(), "openTickets": len(slug), "children": list(children)}


def calendar(given: Given) -> Any:
    shared = {"starts": f"{given['start']}T09:00:00Z", "attendees": ["ines", "kofi"]}
    is_shown = given.get("include_cancelled", False)
    meetings = [shared | one for one in MEETINGS if is_shown or "cancelled" not in one]
    return {"meetings": meetings, "timezone": "UTC"}


def quote(given: Given) -> Any:
    lines = []
    for item in given["items"]:
        price = round(product(item)["price"] * RATES[given["currency"]], 2)
        lines.append({**item, "unitPrice": price, "lineTotal": round(price * item["quantity"], 2)})
    total = sum(line["lineTotal"] for line in lines) * (100 - given.get("discount_percent", 0)) / 100
    return {"lines": lines, "total": round(total, 2), "currency": given["currency"], "validDays": 14}


def product(given: Given) -> dict[str, Any]:
    return {"sku": given["sku"], **PRODUCTS[given["sku"]]}


def export_csv(given: Given) -> str:
    columns = ("id", "status", "priority", "assignee", "estimate_hours")
    rows = [columns, *([one[name] or "" for name in columns] for one in TICKETS.values())]
    return "\n".join(given.get("separator", ",").join(map(str, row)) for row in rows).replace("_hours", "", 1)


LIMIT = {"type": "integer", "minimum": 1, "maximum": 50, "default": 20}
TICKET_ID = {"type": "integer", "description": "The id that list_tickets gives"}
TOOLS = [
    Tool(
        "list_tickets",
        "List tickets, newest first, a page at a time; pass next_cursor as cursor until it is null.",
        opened(
            "status priority assignee limit cursor",
            status=STATUS,
            priority=PRIORITY,
            assignee=TEXT_OR_NULL,
            limit=LIMIT,
            cursor=TEXT_OR_NULL | {"default": None},
        ),
        closed(tickets=array(TICKET), total=INTEGER, next_cursor=TEXT_OR_NULL),
        list_tickets,
    ),
    Tool(
        "get_ticket",
        "Get one ticket with its comments. The metadata is free.",
        opened(ticket_id=TICKET_ID),
        opened(
            "assignee tags created updated estimate_hours customer",
            **TICKET["properties"],
            comments=array(COMMENT),
            metadata=by_name(STRING),
        ),
        get_ticket,
    ),
    Tool(
        "create_ticket",
        "Open a ticket.",
        opened(
            "priority tags due",
            title=STRING,
            body=STRING,
            priority=PRIORITY | {"default": "normal"},
            tags=array(STRING) | {"default": []},
            due=nullable(DATE) | {"default": None},
        ),
        closed(id=INTEGER, status=STATUS, url={"type": "string", "format": "uri"}),
        lambda _: {"id": 124, "status": "open", "url": "https://desk.example/tickets/124"},
    ),
    Tool(
        "update_ticket",
        "Change some fields of a ticket.",
        opened(
            ticket_id=TICKET_ID,
            changes=closed(
                "status priority assignee estimate_hours",
                status=STATUS,
                priority=PRIORITY,
                assignee=TEXT_OR_NULL,
                estimate_hours=NUMBER,
            ),
        ),
        closed(id=INTEGER, changed=array(STRING)),
        lambda given: {"id": given["ticket_id"], "changed": sorted(given["changes"])},
    ),
    Tool(
        "add_comment",
        "Comment on a ticket; internal comments are not shown to the customer.",
        opened("internal", ticket_id=TICKET_ID, text=STRING, internal=BOOLEAN | {"default": False}),
        COMMENT,
        add_comment,
    ),
    Tool(
        "escalate",
        "Escalate an open ticket to whoever is on call. Fails for closed ones.",
        opened(ticket_id=TICKET_ID, reason=STRING),
        closed(ticket_id=INTEGER, escalated_to=STRING, level=INTEGER),
        escalate,
    ),
    Tool(
        "ticket_events",
        "What happened to a ticket, oldest first; each event's kind says what else it has.",
        opened(ticket_id=TICKET_ID),
        closed(events=array(EVENT)),
        ticket_events,
    ),
    Tool(
        "list_people",
        "Everybody at the desk, or one team.",
        opened("team", team=TEAM),
        opened(result=array(PERSON)),
        lambda given: {"result": [one for one in PEOPLE if given.get("team") in {None, one["team"]}]},
    ),
    Tool(
        "count_tickets",
        "Count tickets by a field: its values are the keys.",
        opened(by=one_of("status", "priority", "assignee", "plan")),
        by_name(INTEGER),
        count_tickets,
    ),
    Tool(
        "sla_hours",
        "Within how many hours a ticket of this priority has to be answered.",
        opened(priority=PRIORITY),
        opened(result=NUMBER),
        lambda given: {"result": SLA[given["priority"]]},
    ),
    Tool(
        "category_tree",
        "The categories of tickets, as a tree.",
        opened("depth", depth=INTEGER),
        TREE,
        lambda _: category(
            "all",
            category("product", category("login"), category("export", category("performance"))),
            category("billing"),
        ),
    ),
    Tool(
        "calendar",
        "Meetings from a day on.",
        opened(
            "days include_cancelled",
            start=DATE,
            days=INTEGER | {"default": 7},
            include_cancelled=BOOLEAN | {"default": False},
        ),
        closed(meetings=array(MEETING), timezone=STRING),
        calendar,
    ),
    Tool(
        "book_meeting",
        "Book a meeting; says what it collides with instead, if it does.",
        opened(
            "minutes",
            title=STRING,
            starts=MOMENT,
            attendees=array(STRING),
            minutes={"type": "integer", "enum": [15, 30, 60], "default": 30},
        ),
        closed(
            "meeting_id",
            booked=BOOLEAN,
            meeting_id=STRING,
            conflicts=array(closed(login=STRING, meeting=STRING)),
        ),
        lambda _: {"booked": True, "meeting_id": "B-1", "conflicts": []},
    ),
    Tool(
        "quote",
        "Price an order.",
        opened(
            "discount_percent",
            items=array(closed(sku=STRING, quantity=INTEGER)),
            currency=CURRENCY,
            discount_percent=NUMBER | {"default": 0},
        ),
        opened(
            lines=array(opened(sku=STRING, quantity=INTEGER, unitPrice=NUMBER, lineTotal=NUMBER)),
            total=NUMBER,
            currency=CURRENCY,
        ),
        quote,
    ),
    Tool(
        "product",
        "One product of the shop.",
        opened(sku=STRING),
        opened(
            "supplier attributes",
            sku=STRING,
            name=STRING,
            price=NUMBER,
            inStock=INTEGER,
            supplier=closed(name=STRING, country=STRING),
            attributes={"type": "object"},
        ),
        product,
    ),
    Tool("list_skus", "The products that the shop has.", opened(), None, lambda _: list(PRODUCTS)),
    Tool(
        "search_notes",
        "Search the team's notes.",
        opened("limit", query=STRING, limit=INTEGER),
        None,
        lambda given: list(NOTES[: given.get("limit", 5)]),
    ),
    Tool(
        "export_csv",
        "Export all tickets as CSV.",
        opened("separator", separator=one_of(",", ";") | {"default": ","}),
        None,
        export_csv,
    ),
]

if __name__ == "__main__":
    serve_tools("helpdesk", TOOLS)
