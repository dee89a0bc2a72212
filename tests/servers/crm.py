"""A CRM over stdio, by hand: a server whose tools declare their results in every way that a check can trip over.

Objects open and closed, wrapped lists and texts, unions told apart by a constant, trees, conditions, keys by pattern,
and results that have more keys than are declared.
"""

from __future__ import annotations

from typing import Any

from declared import (  # type: ignore[import-not-found]
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    Given,
    Tool,
    array,
    by_name,
    closed,
    nullable,
    one_of,
    opened,
    serve_tools,
)

TIER = one_of("free", "pro", "enterprise")
STATUS = one_of("open", "closed", "pending")
ACCOUNT = opened(
    "closed_at",
    id=INTEGER,
    name=STRING,
    tier=TIER,
    owner=nullable(opened(id=INTEGER, email=STRING)),
    tags=array(STRING),
    arr=NUMBER,
    closed_at=nullable(STRING),
)
EVENT = {
    "oneOf": [
        opened(type={"const": "email"}, at=STRING, subject=STRING),
        opened(type={"const": "call"}, at=STRING, duration_s=INTEGER),
        opened(type={"const": "meeting"}, at=STRING, attendees=array(STRING), room=nullable(STRING)),
    ]
}
TREE = {
    "$ref": "#/$defs/Node",
    "$defs": {"Node": opened(id=INTEGER, name=STRING, children=array({"$ref": "#/$defs/Node"}))},
}
INVOICE = {
    "type": "object",
    "properties": {"kind": one_of("card", "bank"), "amount": NUMBER},
    "required": ["kind", "amount"],
    "if": {"properties": {"kind": {"const": "card"}}},
    "then": {"properties": {"card_last4": STRING}, "required": ["card_last4"]},
    "else": {"properties": {"iban": STRING}, "required": ["iban"]},
    "unevaluatedProperties": False,
}
SHIPMENT = {
    "allOf": [opened(id=STRING, carrier=STRING), opened(tracking=STRING, eta=nullable(STRING))],
    "unevaluatedProperties": False,
}
CARD = {
    "type": "object",
    "properties": {"card": STRING},
    "dependentSchemas": {"card": {"properties": {"card_holder": STRING}, "required": ["card_holder"]}},
    "unevaluatedProperties": False,
}
PATTERNED = {**closed(id=INTEGER), "patternProperties": {"^x-": {}}}
EITHER = {
    "oneOf": [
        closed(status={"const": "ok"}, data=opened(rows=array(INTEGER))),
        closed(status={"const": "error"}, message=STRING),
    ]
}

ACCOUNTS: list[dict[str, Any]] = [
    {
        "id": 1,
        "name": "Acme",
        "tier": "pro",
        "owner": {"id": 9, "email": "a@x.org"},
        "tags": ["eu", "hot"],
        "arr": 1200.5,
        "segment": "smb",
        "names": ["Acme", "ACME"],
    },
    {
        "id": 2,
        "name": "Bolt",
        "tier": "free",
        "owner": None,
        "tags": [],
        "arr": 0,
        "closed_at": None,
        "segment": "ent",
    },
    {
        "id": 3,
        "name": "Cusp",
        "tier": "enterprise",
        "owner": {"id": 8, "email": "c@x.org"},
        "tags": ["us"],
        "arr": 99000,
        "closed_at": "2026-01-02",
        "segment": "ent",
    },
]
EVENTS = [
    {"type": "email", "at": "2026-01-01T10:00:00", "subject": "Hi"},
    {"type": "call", "at": "2026-01-02T10:00:00", "duration_s": 65},
    {"type": "meeting", "at": "2026-01-03T09:00:00", "attendees": ["m", "k"], "room": None},
]
ORGANISATION = {
    "id": 1,
    "name": "root",
    "children": [
        {"id": 2, "name": "l", "children": []},
        {"id": 3, "name": "r", "children": [{"id": 4, "name": "rl", "children": []}]},
    ],
}
PROFILE = {
    "user_name": "mk",
    "email": "m@k",
    "total_revenue": 12.0,
    "revenue": 11.5,
    "emails": ["m@k", "o@k"],
    "user_names": ["mk"],
    "extra": {"a": 1},
}
CUSTOMERS = [
    {"customer_id": "c1", "total_revenue": 10.0, "order_count": 2},
    {"customer_id": "c2", "total_revenue": 30.0, "order_count": 3},
]
TICKETS = [
    {"id": 1, "status": "open", "priority": 1, "assignee": "m", "created": "2026-01-01T00:00:00Z"},
    {"id": 2, "status": "closed", "priority": 3, "assignee": None, "created": "2026-01-02T00:00:00Z"},
    {"id": 3, "status": "open", "priority": 2, "assignee": "k", "created": "2026-01-03T00:00:00Z"},
]
HITS = [
    {"kind": "account", "score": 0.9, "record": ACCOUNTS[0]},
    {"kind": "note", "score": 0.5, "record": {"text": "hey"}},
]
MANY = 5


def page(given: Given) -> Any:
    start, limit = int(given.get("cursor") or 0), given.get("limit", 2)
    end = start + limit
    following = str(end) if end < len(ACCOUNTS) else None
    return {"accounts": ACCOUNTS[start:end], "total": len(ACCOUNTS), "next_cursor": following}


def account(given: Given) -> Any:
    for one in ACCOUNTS:
        if one["id"] == given["account_id"]:
            return {key: one[key] for key in ("id", "name", "tier", "arr", "tags")}
    raise LookupError(f"there is no account {given['account_id']}")


def price(given: Given) -> Any:
    sku = given["sku"]
    told = {"sku": sku, "price": None if sku == "none" else 9.99, "currency": "EUR"}
    return {**told, "discount": 0.1} if given.get("quantity", 1) > MANY else told


def invoice(given: Given) -> Any:
    kind = given.get("kind", "card")
    how = {"card_last4": "4242"} if kind == "card" else {"iban": "DE1"}
    return {"kind": kind, "amount": 5, **how}


def either(given: Given) -> Any:
    if given.get("ok", True):
        return {"status": "ok", "data": {"rows": [1, 2]}}
    return {"status": "error", "message": "bad"}


TOOLS = [
    Tool(
        "list_accounts",
        "List accounts, a page at a time.",
        opened(
            "cursor limit",
            cursor=nullable(STRING),
            limit={**INTEGER, "minimum": 1, "maximum": 100, "default": 2},
        ),
        opened(accounts=array(ACCOUNT), total=INTEGER, next_cursor=nullable(STRING)),
        page,
    ),
    Tool(
        "get_account",
        "Give one account.",
        closed("include", account_id=INTEGER, include=array(one_of("tags", "owner"))),
        closed(id=INTEGER, name=STRING, tier=TIER, arr=NUMBER, tags=array(STRING)),
        account,
    ),
    Tool(
        "details",
        "Say what an account's company does.",
        opened(account_id=INTEGER),
        closed(account_id=INTEGER, industry=STRING, employees=INTEGER),
        lambda given: {"account_id": given["account_id"], "industry": "metal", "employees": 12},
    ),
    Tool(
        "metrics",
        "Give an account's numbers, by name.",
        opened("period", account_id=INTEGER, period={**one_of("day", "month", "year"), "default": "month"}),
        by_name(NUMBER),
        lambda _: {"logins": 10, "api_calls": 250.5, "errors": 0},
    ),
    Tool(
        "events",
        "List an account's mails, calls and meetings.",
        opened("since", account_id=INTEGER, since=STRING),
        opened(result=array(EVENT)),
        lambda _: {"result": EVENTS},
    ),
    Tool("org", "Give an account's organisation.", opened(account_id=INTEGER), TREE, lambda _: ORGANISATION),
    Tool(
        "update_account",
        "Change fields of an account.",
        opened(account_id=INTEGER, fields=opened("name tier arr", name=STRING, tier=TIER, arr=NUMBER)),
        closed(ok=BOOLEAN, updated=array(STRING)),
        lambda given: {"ok": True, "updated": sorted(given["fields"])},
    ),
    Tool(
        "search",
        "Search accounts and notes.",
        opened(
            "filters limit",
            query=STRING,
            filters=opened("tier min_arr tags", tier=TIER, min_arr=NUMBER, tags=array(STRING)),
            limit=INTEGER,
        ),
        opened(
            hits=array(opened(kind=STRING, score=NUMBER, record={"type": "object"})),
            facets=by_name(by_name(INTEGER)),
        ),
        lambda _: {"hits": HITS, "facets": {"tier": {"pro": 1, "free": 2}}},
    ),
    Tool(
        "count", "Count accounts.", opened("tier", tier=TIER), opened(result=INTEGER), lambda _: {"result": 3}
    ),
    Tool(
        "note",
        "Give the note on an account.",
        opened(account_id=INTEGER),
        opened(result=STRING),
        lambda _: {"result": "call back\nTuesday"},
    ),
    Tool(
        "config",
        "Give the settings.",
        opened(),
        closed(flags=by_name(BOOLEAN), version=STRING, limits=closed(rows=INTEGER, ms=NUMBER)),
        lambda _: {
            "flags": {"beta": True, "dark": False},
            "version": "1.2",
            "limits": {"rows": 10, "ms": 5.5},
        },
    ),
    Tool(
        "price",
        "Give a price, with a discount for many.",
        opened("quantity", sku=STRING, quantity=INTEGER),
        opened(
            "discount", sku=STRING, price=nullable(NUMBER), currency=one_of("EUR", "USD"), discount=NUMBER
        ),
        price,
    ),
    Tool(
        "matrix",
        "Give rows of numbers.",
        opened("n", n=INTEGER),
        opened(rows=array(array(NUMBER))),
        lambda _: {"rows": [[1, 2.5], [3, 4]]},
    ),
    Tool(
        "raw",
        "Give JSON of which nothing is declared.",
        opened("q", q=STRING),
        None,
        lambda given: {"anything": [1, 2, {"x": "y"}], "q": given.get("q", "")},
    ),
    Tool(
        "text", "Give a text.", opened("q", q=STRING), None, lambda given: "plain text " + given.get("q", "")
    ),
    Tool(
        "pair",
        "Give a pair and a box.",
        opened(),
        opened(
            point={"type": "array", "prefixItems": [STRING, INTEGER], "items": False},
            box=array(array(INTEGER)),
        ),
        lambda _: {"point": ["a", 3], "box": [[0, 1], [2, 3]]},
    ),
    Tool(
        "profile",
        "Give a user's profile, which has more than is declared.",
        opened(user_id={"type": ["string", "integer"]}),
        opened(user_name=STRING, email=STRING, total_revenue=NUMBER),
        lambda _: PROFILE,
    ),
    Tool(
        "customers",
        "List customers.",
        opened(),
        opened(result=array(closed(customer_id=STRING, total_revenue=NUMBER, order_count=INTEGER))),
        lambda _: {"result": CUSTOMERS},
    ),
    Tool(
        "send",
        "Send a message.",
        closed(
            "body cc priority attachments meta",
            to=array(STRING),
            subject={"type": "string", "minLength": 1},
            body=STRING,
            cc=array(STRING),
            priority={**one_of("low", "normal", "high"), "default": "normal"},
            attachments=array(opened("size", name=STRING, size=INTEGER)),
            meta=by_name(STRING),
        ),
        closed(message_id=STRING, accepted=array(STRING)),
        lambda given: {"message_id": "m1", "accepted": given["to"]},
    ),
    Tool(
        "patterned",
        "Give an object that has keys by a pattern.",
        opened(),
        PATTERNED,
        lambda _: {"id": 1, "x-color": "red", "x-size": 3},
    ),
    Tool("invoice", "Give an invoice.", opened("kind", kind=one_of("card", "bank")), INVOICE, invoice),
    Tool(
        "shipment",
        "Say where a shipment is.",
        opened(),
        SHIPMENT,
        lambda _: {"id": "s", "carrier": "dhl", "tracking": "T1", "eta": "2026-02-01"},
    ),
    Tool("dependent", "Give a card.", opened(), CARD, lambda _: {"card": "1", "card_holder": "M"}),
    Tool("either", "Give data, or say what is wrong.", opened("ok", ok=BOOLEAN), EITHER, either),
    Tool(
        "nullable",
        "Give an object, or nothing for 0.",
        opened("x", x=INTEGER),
        opened(result=nullable(closed(a=INTEGER, b=STRING))),
        lambda given: {"result": None if given.get("x", 1) == 0 else {"a": 1, "b": "z"}},
    ),
    Tool(
        "weather",
        "Give the weather, by city.",
        opened(cities=array(STRING)),
        opened(by_city=by_name(closed(temp_c=NUMBER, wind_kmh=NUMBER))),
        lambda given: {"by_city": {city: {"temp_c": 3.5, "wind_kmh": 10} for city in given["cities"]}},
    ),
    Tool(
        "tickets",
        "List tickets.",
        opened("status", status=STATUS),
        opened(
            tickets=array(
                closed(id=INTEGER, status=STATUS, priority=INTEGER, assignee=nullable(STRING), created=STRING)
            )
        ),
        lambda _: {"tickets": TICKETS},
    ),
    Tool(
        "wide",
        "Give a result with something beside it.",
        opened(),
        opened(result=opened(a=INTEGER)),
        lambda _: {"result": {"a": 1}, "meta": {"took": 3}},
    ),
    Tool(
        "from",
        "Give back the arguments, which are no names in Python.",
        {
            "type": "object",
            "properties": {"from": STRING, "to": STRING, "x-y": INTEGER},
            "required": ["from"],
        },
        None,
        lambda given: given,
    ),
]
if __name__ == "__main__":
    serve_tools("crm", TOOLS)
