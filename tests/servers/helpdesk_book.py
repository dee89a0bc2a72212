"""The tickets, people, meetings and products behind the help desk server; its today is always the same day."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from typing import Any

TODAY = date(2026, 6, 30)
RATES = {"EUR": 1.0, "USD": 1.1, "GBP": 0.85}
SLA = {"low": 72.0, "normal": 24.0, "high": 8.0, "urgent": 1.5}
ANYBODY = "*"
STATUSES = ("open", "pending", "closed")
PRIORITIES = ("low", "normal", "high", "urgent")
TITLES = (
    "Cannot log in after reset", "Invoice shows the wrong VAT", "Export never finishes",
    "Webhook is sent twice", "Search misses new documents", "Please delete my account",
)  # fmt: skip
TAGS: tuple[list[str], ...] = (
    ["login", "urgent-customer"],
    ["billing"],
    ["export", "performance"],
    [],
    ["search"],
    ["privacy"],
)
CUSTOMERS = (
    ("Mara Olsen", "mara@fjord.example", "enterprise"),
    ("Teo Brandt", "teo@kiln.example", "team"),
    ("Ada Nwosu", "ada@loom.example", "free"),
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


class RefusedError(Exception):
    """The call cannot be answered; its message says why."""


def _tickets() -> list[dict[str, Any]]:
    logins = ["ines", None, "kofi", "lucia", "jonas"]
    made = []
    for number in range(1, 25):
        name, email, plan = CUSTOMERS[number % len(CUSTOMERS)]
        created = TODAY - timedelta(days=3 * (25 - number))
        made.append(
            {
                "id": 100 + number,
                "title": TITLES[number % len(TITLES)],
                "status": STATUSES[number * 7 % 5 % 3],
                "priority": PRIORITIES[number * 5 % 4],
                "assignee": logins[number % len(logins)],
                "tags": list(TAGS[number % len(TAGS)]),
                "created": created.isoformat(),
                "updated": f"{created + timedelta(days=number % 3)}T{8 + number % 10:02}:15:00Z",
                "estimate_hours": None if number % 4 == 0 else number % 7 + 0.5,
                "customer": {"name": name, "email": email, "plan": plan},
            }
        )
    return made[::-1]


class Book:
    """Everything that the desk knows; a method for each tool."""

    def __init__(self) -> None:
        self.tickets = _tickets()
        self.comments: dict[int, list[dict[str, Any]]] = {
            one["id"]: [
                {"author": "ines", "text": "We are looking into it.", "at": one["updated"], "internal": False}
            ]
            for one in self.tickets
            if one["id"] % 2
        }
        self.booked: list[dict[str, Any]] = []

    def list_tickets(
        self,
        status: str | None = None,
        priority: str | None = None,
        assignee: str | None = ANYBODY,
        limit: int = 20,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        found = [
            one
            for one in self.tickets
            if status in {None, one["status"]}
            and priority in {None, one["priority"]}
            and assignee in {ANYBODY, one["assignee"]}
        ]
        start = int((cursor or "at-0").removeprefix("at-"))
        end = start + limit
        following = f"at-{end}" if end < len(found) else None
        return {"tickets": found[start:end], "total": len(found), "next_cursor": following}

    def get_ticket(self, ticket_id: int) -> dict[str, Any]:
        ticket = self._ticket(ticket_id)
        metadata = {"channel": "mail" if ticket_id % 2 else "web"}
        if ticket_id % 3 == 0:
            metadata["browser"] = "Firefox 139"
        return {**ticket, "comments": self.comments.get(ticket_id, []), "metadata": metadata}

    def create_ticket(
        self,
        title: str,
        body: str,
        priority: str = "normal",
        tags: list[str] | None = None,
        due: str | None = None,
    ) -> dict[str, Any]:
        number = max(one["id"] for one in self.tickets) + 1
        name, email, plan = CUSTOMERS[0]
        self.tickets.insert(
            0,
            {
                "id": number,
                "title": title,
                "status": "open",
                "priority": priority,
                "assignee": None,
                "tags": [*(tags or []), *([f"due-{due}"] if due else [])],
                "created": TODAY.isoformat(),
                "updated": f"{TODAY}T18:00:00Z",
                "estimate_hours": float(len(body.split())),
                "customer": {"name": name, "email": email, "plan": plan},
            },
        )
        return {"id": number, "status": "open", "url": f"https://desk.example/tickets/{number}"}

    def update_ticket(self, ticket_id: int, changes: dict[str, Any]) -> dict[str, Any]:
        ticket = self._ticket(ticket_id)
        changed = [name for name, value in changes.items() if ticket[name] != value]
        ticket.update(changes)
        return {"id": ticket_id, "changed": changed}

    def add_comment(self, ticket_id: int, text: str, internal: bool = False) -> dict[str, Any]:
        self._ticket(ticket_id)
        comment = {"author": "agent", "text": text, "at": f"{TODAY}T18:00:00Z", "internal": internal}
        self.comments.setdefault(ticket_id, []).append(comment)
        return comment

    def escalate(self, ticket_id: int, reason: str) -> dict[str, Any]:
        ticket = self._ticket(ticket_id)
        if ticket["status"] == "closed":
            raise RefusedError(f"Ticket {ticket_id} is closed; reopen it before you escalate it.")
        return {"ticket_id": ticket_id, "escalated_to": "ines", "level": 1 + ("again" in reason)}

    def ticket_events(self, ticket_id: int) -> dict[str, Any]:
        ticket = self._ticket(ticket_id)
        events: list[dict[str, Any]] = [
            {"kind": "opened", "at": f"{ticket['created']}T08:00:00Z", "by": ticket["customer"]["name"]},
            {"kind": "assigned", "at": f"{ticket['created']}T09:00:00Z", "to": ticket["assignee"]},
        ]
        events += [
            {"kind": "commented", "at": comment["at"], "by": comment["author"], "text": comment["text"]}
            for comment in self.comments.get(ticket_id, [])
        ]
        if ticket["status"] != "open":
            events.append({"kind": "moved", "at": ticket["updated"], "old": "open", "new": ticket["status"]})
        return {"events": events}

    def list_people(self, team: str | None = None) -> list[dict[str, Any]]:
        return [one for one in PEOPLE if team in {None, one["team"]}]

    def count_tickets(self, by: str) -> dict[str, int]:
        values = (one["customer"]["plan"] if by == "plan" else one[by] for one in self.tickets)
        return dict(Counter(value or "nobody" for value in values))

    def sla_hours(self, priority: str) -> float:
        return SLA[priority]

    def category_tree(self, depth: int = 3) -> dict[str, Any]:
        def node(slug: str, *children: dict[str, Any]) -> dict[str, Any]:
            number = sum(slug in one["tags"] for one in self.tickets if one["status"] == "open")
            return {"slug": slug, "label": slug.title(), "openTickets": number, "children": list(children)}

        product = node("product", node("login"), node("export", node("performance")), node("search"))
        return node("all", product, node("billing"), node("privacy")) if depth > 1 else node("all")

    def calendar(self, start: str, days: int = 7, include_cancelled: bool = False) -> dict[str, Any]:
        rooms = ({"name": "Harbour", "floor": 2, "seats": 8}, None, {"name": "Attic", "floor": 5, "seats": 4})
        meetings = []
        for number in range(days * 2):
            at = datetime.fromisoformat(start) + timedelta(hours=12 * number + 9 - 3 * (number % 2))
            meeting: dict[str, Any] = {
                "id": f"M-{at:%m%d%H}",
                "title": ("Stand-up", "Customer call", "Review")[number % 3],
                "starts": f"{at.isoformat()}Z",
                "minutes": (15, 30, 60)[number % 3],
                "attendees": [one["login"] for one in PEOPLE[number % 3 :]],
                "room": rooms[number % 3],
            }
            if number % 5 == 4:
                meeting["cancelled"] = True
            if include_cancelled or "cancelled" not in meeting:
                meetings.append(meeting)
        return {"meetings": meetings, "timezone": "UTC"}

    def book_meeting(
        self, title: str, starts: str, attendees: list[str], minutes: int = 30
    ) -> dict[str, Any]:
        conflicts = [
            {"login": login, "meeting": other["title"]}
            for other in self.booked
            for login in attendees
            if other["starts"] == starts and login in other["attendees"]
        ]
        if conflicts:
            return {"booked": False, "conflicts": conflicts}
        self.booked.append({"title": title, "starts": starts, "attendees": attendees, "minutes": minutes})
        return {"booked": True, "meeting_id": f"B-{len(self.booked)}", "conflicts": []}

    def quote(
        self, items: list[dict[str, Any]], currency: str, discount_percent: float = 0
    ) -> dict[str, Any]:
        lines = []
        for item in items:
            price = round(self.product(item["sku"])["price"] * RATES[currency], 2)
            lines.append({**item, "unitPrice": price, "lineTotal": round(price * item["quantity"], 2)})
        total = sum(line["lineTotal"] for line in lines) * (100 - discount_percent) / 100
        return {"lines": lines, "total": round(total, 2), "currency": currency, "validDays": 14}

    def product(self, sku: str) -> dict[str, Any]:
        if sku not in PRODUCTS:
            raise RefusedError(f"There is no product {sku}; list_skus says which there are.")
        return {"sku": sku, **PRODUCTS[sku]}

    def list_skus(self) -> list[str]:
        return list(PRODUCTS)

    def search_notes(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        words = query.casefold().split()
        found = [
            dict(note)
            for note in NOTES
            if any(word in f"{note['title']} {note['body']}".casefold() for word in words)
        ]
        return found[:limit]

    def export_csv(self, separator: str = ",") -> str:
        head = separator.join(("id", "status", "priority", "assignee", "estimate"))
        rows = [
            separator.join(
                str(one[name] if one[name] is not None else "")
                for name in ("id", "status", "priority", "assignee", "estimate_hours")
            )
            for one in self.tickets
        ]
        return "\n".join([head, *rows])

    def _ticket(self, ticket_id: int) -> dict[str, Any]:
        for one in self.tickets:
            if one["id"] == ticket_id:
                return one
        raise RefusedError(f"There is no ticket {ticket_id}.")
