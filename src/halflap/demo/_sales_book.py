"""The implementation of the sales server's tools, over the data of the example `sales-server`.

Changes last as long as the process.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.demo._contract_sales import book
from halflap.demo._serving import RefusedError

if TYPE_CHECKING:
    from halflap.demo._contract_sales.book import CustomerRow, OrderRow

PERIODS = book.PERIODS
SEGMENTS = ("enterprise", "mid-market", "smb")
GENERATED_AT = f"{book.NOW:%Y-%m-%dT%H:%M:%SZ}"


class Book:
    """The data of this process, and its tools."""

    def __init__(self) -> None:
        self.customers = dict(book.CUSTOMERS)
        self.orders = list(book.ORDERS)

    def sales_top_customers(self, period: str = "quarter", limit: int = 10) -> dict[str, Any]:
        since = book.TODAY - PERIODS[period]
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
            "customer_since": customer.customer_since.isoformat(),
            "health_score": customer.health_score,
            "last_contact": f"{customer.last_contact:%Y-%m-%dT%H:%M:%SZ}",
        }

    def update_customer_segment(self, customer_id: str, segment: str) -> dict[str, Any]:
        self.customers[customer_id] = replace(self._customer(customer_id), segment=segment)
        return {"customer_id": customer_id, "segment": segment}

    def delete_customer(self, customer_id: str) -> dict[str, Any]:
        removed = len(self._orders_of(self._customer(customer_id).customer_id))
        del self.customers[customer_id]
        self.orders = [order for order in self.orders if order.customer_id != customer_id]
        return {"customer_id": customer_id, "deleted": True, "orders_removed": removed}

    def _customer(self, customer_id: str) -> "CustomerRow":
        try:
            return self.customers[customer_id]
        except KeyError:
            raise RefusedError(
                f"Unknown customer_id: {customer_id}. Use one from sales_top_customers or customer_search."
            ) from None

    def _orders_of(self, customer_id: str) -> "list[OrderRow]":
        return [order for order in self.orders if order.customer_id == customer_id]
