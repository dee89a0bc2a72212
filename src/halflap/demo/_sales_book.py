"""The customers and orders behind the sales server, and what its tools do with them.

Changes last as long as the process. Its today is the fixed TODAY, so that every run gives the same answers.
"""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from halflap.demo._serving import RefusedError

TODAY = date(2026, 6, 30)
GENERATED_AT = "2026-06-30T18:00:00Z"
HISTORY = timedelta(days=730)
PERIODS = {"month": timedelta(days=30), "quarter": timedelta(days=91), "year": timedelta(days=365)}
DAYS_TO_SHIP = 2
DAYS_TO_ARRIVE = 7
SEGMENTS = ("enterprise", "mid-market", "smb")


@dataclass(frozen=True)
class Customer:
    customer_id: str
    name: str
    segment: str
    city: str
    email: str
    customer_since: str
    health_score: int
    last_contact: str
    days_between_orders: int
    typical_order_cents: int


@dataclass(frozen=True)
class Order:
    order_id: str
    customer_id: str
    total_cents: int
    date: date
    status: str


# Name, segment, city, mailbox, since, health, days since the last contact and between orders, typical cents.
_ROWS = (
    ("Acme Corp", "enterprise", "Chicago", "purchasing@acme", "2017-03-14", 88, 3, 6, 1_840_000),
    ("TechStart Inc", "mid-market", "Austin", "ops@techstart", "2022-09-01", 74, 11, 13, 412_500),
    ("Globex Logistics", "enterprise", "Rotterdam", "supply@globex", "2018-11-20", 61, 8, 8, 1_325_000),
    ("Juniper Bakery", "smb", "Lyon", "bonjour@juniper", "2023-02-27", 91, 20, 17, 38_900),
    ("Northwind Traders", "mid-market", "Seattle", "orders@northwind", "2019-06-05", 55, 34, 15, 296_000),
    ("Harbor Medical", "enterprise", "Boston", "procurement@harbor", "2020-01-16", 83, 5, 10, 1_510_000),
    ("Pinecrest School", "smb", "Denver", "office@pinecrest", "2021-08-23", 47, 61, 41, 74_250),
    ("Solano Vineyards", "smb", "Napa", "hello@solano", "2020-05-11", 68, 27, 29, 92_300),
    ("Vector Robotics", "mid-market", "Turin", "acquisti@vector", "2021-04-19", 79, 9, 12, 538_000),
    ("Blue Heron Media", "smb", "Toronto", "team@blueheron", "2022-12-02", 39, 95, 53, 51_700),
    ("Kestrel Aviation", "enterprise", "Dublin", "stores@kestrel", "2019-10-30", 44, 47, 19, 1_975_000),
    ("Orchard Insurance", "mid-market", "Zurich", "einkauf@orchard", "2018-07-09", 86, 6, 22, 361_400),
)


def _customers() -> dict[str, Customer]:
    customers = {}
    for number, (name, segment, city, mailbox, since, health, contact, days, cents) in enumerate(
        _ROWS, start=1
    ):
        identifier = f"CUST-{number:03}"
        customers[identifier] = Customer(
            customer_id=identifier,
            name=name,
            segment=segment,
            city=city,
            email=f"{mailbox}.example",
            customer_since=since,
            health_score=health,
            last_contact=f"{TODAY - timedelta(days=contact)}T{8 + number % 9:02}:30:00Z",
            days_between_orders=days,
            typical_order_cents=cents,
        )
    return customers


def _orders(customers: dict[str, Customer]) -> list[Order]:
    """Make the orders of the last two years, newest first."""
    made = []
    for place, customer in enumerate(customers.values()):
        day = TODAY - timedelta(days=place % 5 + 1)
        turn = 0
        while TODAY - day <= HISTORY:
            percent = 70 + (turn * 37 + place * 53) % 61
            cents = customer.typical_order_cents * percent // 100
            made.append((day, customer.customer_id, cents, _status(day, turn + place)))
            turn += 1
            day -= timedelta(days=customer.days_between_orders + turn % 3)
    made.sort()
    orders = [
        Order(
            order_id=f"ORD-{number:05}", customer_id=customer_id, total_cents=cents, date=day, status=status
        )
        for number, (day, customer_id, cents, status) in enumerate(made, start=10_001)
    ]
    return orders[::-1]


def _status(day: date, turn: int) -> str:
    if turn % 17 == 0:
        return "cancelled"
    age = (TODAY - day).days
    return "processing" if age <= DAYS_TO_SHIP else "shipped" if age <= DAYS_TO_ARRIVE else "delivered"


class Book:
    """Everything this process knows, and what its tools do with it."""

    def __init__(self) -> None:
        self.customers = _customers()
        self.orders = _orders(self.customers)

    def sales_top_customers(self, period: str = "quarter", limit: int = 10) -> dict[str, Any]:
        since = TODAY - PERIODS[period]
        rows: list[dict[str, Any]] = []
        for customer in self.customers.values():
            orders = [
                order
                for order in self._orders_of(customer.customer_id)
                if order.date > since and order.status != "cancelled"
            ]
            if orders:
                rows.append(
                    {
                        "customer_id": customer.customer_id,
                        "name": customer.name,
                        "total_revenue": sum(order.total_cents for order in orders) / 100,
                        "order_count": len(orders),
                        "last_order_date": orders[0].date.isoformat(),
                    }
                )
        rows.sort(key=lambda row: row["total_revenue"], reverse=True)
        return {"customers": rows[:limit], "period": period, "generated_at": GENERATED_AT}

    def order_history(self, customer_id: str, limit: int = 10, cursor: str | None = None) -> dict[str, Any]:
        self._customer(customer_id)
        orders = self._orders_of(customer_id)
        start = 0
        if cursor is not None:
            identifiers = [f"after-{order.order_id}" for order in orders]
            if cursor not in identifiers:
                raise RefusedError(
                    f"Unknown cursor: {cursor}. Pass pagination.next_cursor of the page before, "
                    "for the same customer_id, or none for the first page."
                )
            start = identifiers.index(cursor) + 1
        page = orders[start : start + limit]
        pagination: dict[str, Any] = {
            "total_count": len(orders),
            "page_size": len(page),
            "has_more": start + limit < len(orders),
        }
        if pagination["has_more"]:
            pagination["next_cursor"] = f"after-{page[-1].order_id}"
        return {
            "orders": [
                {
                    "order_id": order.order_id,
                    "customer_id": order.customer_id,
                    "total_cents": order.total_cents,
                    "date": order.date.isoformat(),
                    "status": order.status,
                }
                for order in page
            ],
            "pagination": pagination,
        }

    def customer_search(self, query: str) -> dict[str, Any]:
        wanted = query.casefold().split()
        return {
            "customers": [
                {"customer_id": customer.customer_id, "name": customer.name, "segment": customer.segment}
                for customer in self.customers.values()
                if all(
                    word in f"{customer.name} {customer.city} {customer.segment}".casefold()
                    for word in wanted
                )
            ]
        }

    def customer_details(self, customer_id: str) -> dict[str, Any]:
        customer = self._customer(customer_id)
        return {
            "customer_id": customer.customer_id,
            "name": customer.name,
            "segment": customer.segment,
            "city": customer.city,
            "email": customer.email,
            "customer_since": customer.customer_since,
            "health_score": customer.health_score,
            "last_contact": customer.last_contact,
        }

    def update_customer_segment(self, customer_id: str, segment: str) -> dict[str, Any]:
        self.customers[customer_id] = replace(self._customer(customer_id), segment=segment)
        return {"customer_id": customer_id, "segment": segment}

    def delete_customer(self, customer_id: str) -> dict[str, Any]:
        removed = len(self._orders_of(self._customer(customer_id).customer_id))
        del self.customers[customer_id]
        self.orders = [order for order in self.orders if order.customer_id != customer_id]
        return {"customer_id": customer_id, "deleted": True, "orders_removed": removed}

    def _customer(self, customer_id: str) -> Customer:
        try:
            return self.customers[customer_id]
        except KeyError:
            raise RefusedError(
                f"Unknown customer_id: {customer_id}. Use one from sales_top_customers or customer_search."
            ) from None

    def _orders_of(self, customer_id: str) -> list[Order]:
        return [order for order in self.orders if order.customer_id == customer_id]
