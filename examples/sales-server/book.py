"""The customers, orders and opportunities of a fictional company, on a fixed day, so that every run gives the same results."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

TODAY = date(2026, 6, 30)
NOW = datetime(2026, 6, 30, 18, tzinfo=UTC)
HISTORY = timedelta(days=730)
PERIODS = {"month": timedelta(days=30), "quarter": timedelta(days=91), "year": timedelta(days=365)}
STAGES = {"lead": 0.1, "qualified": 0.3, "proposal": 0.55, "negotiation": 0.8}
DAYS_TO_SHIP = 2
DAYS_TO_ARRIVE = 7

# Name, segment, city, region, mailbox, since, health, days since the last contact and between orders, typical cents.
_ROWS = (
    ("Acme Corp", "enterprise", "Chicago", "NA", "purchasing@acme", "2017-03-14", 88, 3, 6, 1_840_000),
    ("TechStart Inc", "mid-market", "Austin", "NA", "ops@techstart", "2022-09-01", 74, 11, 13, 412_500),
    ("Globex Logistics", "enterprise", "Rotterdam", "EMEA", "supply@globex", "2018-11-20", 61, 8, 8, 1_325_000),
    ("Juniper Bakery", "smb", "Lyon", "EMEA", "bonjour@juniper", "2023-02-27", 91, 20, 17, 38_900),
    ("Northwind Traders", "mid-market", "Seattle", "NA", "orders@northwind", "2019-06-05", 55, 34, 15, 296_000),
    ("Harbor Medical", "enterprise", "Boston", "NA", "procurement@harbor", "2020-01-16", 83, 5, 10, 1_510_000),
    ("Pinecrest School", "smb", "Denver", "NA", "office@pinecrest", "2021-08-23", 47, 61, 41, 74_250),
    ("Sakura Foods", "smb", "Osaka", "APAC", "hello@sakura", "2020-05-11", 68, 27, 29, 92_300),
    ("Vector Robotics", "mid-market", "Turin", "EMEA", "acquisti@vector", "2021-04-19", 79, 9, 12, 538_000),
    ("Blue Heron Media", "smb", "Toronto", "NA", "team@blueheron", "2022-12-02", 39, 95, 53, 51_700),
    ("Kestrel Aviation", "enterprise", "Dublin", "EMEA", "stores@kestrel", "2019-10-30", 44, 47, 19, 1_975_000),
    ("Wattle Insurance", "mid-market", "Sydney", "APAC", "buying@wattle", "2018-07-09", 86, 6, 22, 361_400),
)  # fmt: skip
_PEOPLE = ("Ada Okafor", "Bruno Silva", "Chen Wei", "Dana Novak", "Elif Kaya", "Farid Haddad", "Greta Lund")
_ROLES = ("decision maker", "buyer", "engineer", "legal")
_KINDS = ("email", "call", "meeting", "demo")


@dataclass(frozen=True)
class CustomerRow:
    """A customer."""

    customer_id: str
    name: str
    segment: str
    city: str
    region: str
    email: str
    customer_since: date
    health_score: int
    last_contact: datetime
    days_between_orders: int
    typical_order_cents: int


@dataclass(frozen=True)
class OrderRow:
    """An order."""

    order_id: str
    customer_id: str
    total_cents: int
    date: date
    status: str


@dataclass(frozen=True)
class OpportunityRow:
    """Something that may be sold."""

    opportunity_id: str
    customer_id: str
    name: str
    stage: str
    value_cents: int
    expected_close: date


def _customers() -> dict[str, CustomerRow]:
    found = {}
    for number, (name, segment, city, region, box, since, health, contact, days, cents) in enumerate(
        _ROWS, 1
    ):
        found[f"CUST-{number:03}"] = CustomerRow(
            customer_id=f"CUST-{number:03}",
            name=name,
            segment=segment,
            city=city,
            region=region,
            email=f"{box}.example",
            customer_since=date.fromisoformat(since),
            health_score=health,
            last_contact=datetime(2026, 6, 30, 8 + number % 9, 30, tzinfo=UTC) - timedelta(days=contact),
            days_between_orders=days,
            typical_order_cents=cents,
        )
    return found


def _orders(customers: dict[str, CustomerRow]) -> list[OrderRow]:
    """Make the orders of the last two years, newest first."""
    made = []
    for place, customer in enumerate(customers.values()):
        day = TODAY - timedelta(days=place % 5 + 1)
        turn = 0
        while TODAY - day <= HISTORY:
            cents = customer.typical_order_cents * (70 + (turn * 37 + place * 53) % 61) // 100
            made.append((day, customer.customer_id, cents, _status(day, turn + place)))
            turn += 1
            day -= timedelta(days=customer.days_between_orders + turn % 3)
    made.sort()
    orders = [
        OrderRow(f"ORD-{number:05}", customer_id, cents, day, status)
        for number, (day, customer_id, cents, status) in enumerate(made, 10_001)
    ]
    return orders[::-1]


def _status(day: date, turn: int) -> str:
    if turn % 17 == 0:
        return "cancelled"
    age = (TODAY - day).days
    return "processing" if age <= DAYS_TO_SHIP else "shipped" if age <= DAYS_TO_ARRIVE else "delivered"


def _opportunities(customers: dict[str, CustomerRow]) -> dict[str, OpportunityRow]:
    found = {}
    for number, customer in enumerate(customers.values(), 1):
        stage = list(STAGES)[number % len(STAGES)]
        found[f"OPP-{number:03}"] = OpportunityRow(
            opportunity_id=f"OPP-{number:03}",
            customer_id=customer.customer_id,
            name=f"{'Renewal' if number % 3 else 'Expansion'} for {customer.name}",
            stage=stage,
            value_cents=customer.typical_order_cents * (4 + number % 5),
            expected_close=TODAY + timedelta(days=15 * (number % 6 + 1)),
        )
    return found


CUSTOMERS = _customers()
ORDERS = _orders(CUSTOMERS)
OPPORTUNITIES = _opportunities(CUSTOMERS)


def orders_of(customer_id: str, period: str | None = None) -> list[OrderRow]:
    """Return the orders of a customer, newest first; within a period, those that were not cancelled."""
    found = [one for one in ORDERS if one.customer_id == customer_id]
    if period is None:
        return found
    return [one for one in found if one.date > TODAY - PERIODS[period] and one.status != "cancelled"]


def people_of(opportunity: OpportunityRow) -> list[tuple[str, str]]:
    """Return the people involved in an opportunity, each with a role."""
    number = int(opportunity.opportunity_id[-3:])
    return [
        (_PEOPLE[(number * 3 + at) % len(_PEOPLE)], _ROLES[(number + at) % len(_ROLES)])
        for at in range(1 + number % 3)
    ]


def activities_of(opportunity: OpportunityRow) -> list[tuple[datetime, str, str]]:
    """Return the activities of an opportunity, newest first: when, which kind, in a sentence."""
    number = int(opportunity.opportunity_id[-3:])
    return [
        (
            NOW - timedelta(days=3 * at + number % 4, hours=at),
            _KINDS[(number + at) % len(_KINDS)],
            f"{_KINDS[(number + at) % len(_KINDS)].capitalize()} with {_PEOPLE[(number * 3) % len(_PEOPLE)]}",
        )
        for at in range(3 + number % 4)
    ]
