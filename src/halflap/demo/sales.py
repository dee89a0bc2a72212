"""Customers and orders of a fictional company: a server that declares its outputs and describes how its tools chain."""

from typing import Any

from halflap.demo._sales_book import PERIODS, SEGMENTS, Book
from halflap.demo._serving import DemoServer, ServedTool

INSTRUCTIONS = (
    "Sales data of one firm. Start from sales_top_customers or customer_search: both return customer_id values, "
    "which order_history and customer_details take. order_history is paginated: while pagination.has_more is true, "
    "call again with cursor set to pagination.next_cursor. Order totals are in USD cents, total_revenue is in USD. "
    "delete_customer cannot be undone."
)


def _object(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | {"required": list(required)} if required else schema


_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_DATE = {"type": "string", "format": "date"}
_DATE_TIME = {"type": "string", "format": "date-time"}
_CUSTOMER_ID = {"type": "string", "description": "Customer ID from sales_top_customers or customer_search"}
_RETURNED_ID = {
    "type": "string",
    "description": "Unique identifier. Use with order_history, customer_details tools.",
}
_SEGMENT = {
    "type": "string",
    "enum": list(SEGMENTS),
    "description": "Customer segment based on annual revenue",
}


def _writes(*, destroys: bool) -> dict[str, bool]:
    return {
        "readOnlyHint": False,
        "destructiveHint": destroys,
        "idempotentHint": not destroys,
        "openWorldHint": False,
    }


def served(book: Book) -> list[ServedTool]:
    return [
        ServedTool(
            name="sales_top_customers",
            description=(
                "Get top customers by revenue for a time period. Returns customer_id values that can be used with: "
                "- order_history (their orders) - customer_details (full customer info). "
                "total_revenue is in USD, without cancelled orders."
            ),
            input_schema=_object(
                period={"type": "string", "enum": list(PERIODS), "default": "quarter"},
                limit={"type": "integer", "default": 10},
            ),
            output_schema=_object(
                customers={
                    "type": "array",
                    "items": _object(
                        customer_id=_STRING,
                        name=_STRING,
                        total_revenue={"type": "number"},
                        order_count=_INTEGER,
                        last_order_date=_DATE,
                    ),
                },
                period=_STRING,
                generated_at=_DATE_TIME,
            ),
            answer=book.sales_top_customers,
        ),
        ServedTool(
            name="order_history",
            description=(
                "Get the orders of one customer, newest first, a page at a time. "
                "Takes a customer_id from sales_top_customers or customer_search."
            ),
            input_schema=_object(
                ("customer_id",),
                customer_id=_CUSTOMER_ID,
                limit={"type": "integer", "default": 10, "description": "Orders per page"},
                cursor={"type": "string", "description": "pagination.next_cursor of the page before"},
            ),
            output_schema=_object(
                ("orders", "pagination"),
                orders={
                    "type": "array",
                    "items": _object(
                        ("order_id", "customer_id", "total_cents", "date", "status"),
                        order_id=_STRING,
                        customer_id=_STRING,
                        total_cents={
                            "type": "integer",
                            "description": "Total in USD cents (divide by 100 for dollars)",
                        },
                        date=_DATE,
                        status={
                            "type": "string",
                            "enum": ["processing", "shipped", "delivered", "cancelled"],
                        },
                    ),
                },
                pagination=_object(
                    ("total_count", "page_size", "has_more"),
                    total_count=_INTEGER,
                    page_size=_INTEGER,
                    has_more={"type": "boolean"},
                    next_cursor={
                        "type": "string",
                        "description": "Pass to 'cursor' parameter to get next page",
                    },
                ),
            ),
            answer=book.order_history,
        ),
        ServedTool(
            name="customer_search",
            description=(
                "Find customers by words of their name, city or segment. Returns customer_id values that can be "
                "used with: - order_history (their orders) - customer_details (full customer info)"
            ),
            input_schema=_object(("query",), query=_STRING),
            output_schema=_object(
                ("customers",),
                customers={
                    "type": "array",
                    "items": _object(
                        ("customer_id", "name", "segment"),
                        customer_id=_RETURNED_ID,
                        name=_STRING,
                        segment=_SEGMENT,
                    ),
                },
            ),
            answer=book.customer_search,
        ),
        ServedTool(
            name="customer_details",
            description=(
                "Get all that is known about one customer. "
                "Takes a customer_id from sales_top_customers or customer_search."
            ),
            input_schema=_object(("customer_id",), customer_id=_CUSTOMER_ID),
            output_schema=_object(
                ("customer_id", "name", "segment", "health_score", "last_contact"),
                customer_id=_RETURNED_ID,
                name=_STRING,
                segment=_SEGMENT,
                city=_STRING,
                email={"type": "string", "format": "email"},
                customer_since=_DATE,
                health_score={
                    "type": "integer",
                    "minimum": 0,
                    "maximum": 100,
                    "description": "Customer health score. <50=at-risk, 50-80=stable, >80=healthy",
                },
                last_contact=_DATE_TIME | {"description": "Last customer interaction timestamp (UTC)"},
            ),
            answer=book.customer_details,
        ),
        ServedTool(
            name="update_customer_segment",
            description="Move a customer to another segment. customer_details shows the current one.",
            input_schema=_object(("customer_id", "segment"), customer_id=_CUSTOMER_ID, segment=_SEGMENT),
            output_schema=_object(("customer_id", "segment"), customer_id=_RETURNED_ID, segment=_SEGMENT),
            annotations=_writes(destroys=False),
            answer=book.update_customer_segment,
        ),
        ServedTool(
            name="delete_customer",
            description="Delete a customer and all of their orders. This cannot be undone.",
            input_schema=_object(("customer_id",), customer_id=_CUSTOMER_ID),
            output_schema=_object(
                ("customer_id", "deleted", "orders_removed"),
                customer_id=_STRING,
                deleted={"type": "boolean"},
                orders_removed=_INTEGER,
            ),
            annotations=_writes(destroys=True),
            answer=book.delete_customer,
        ),
    ]


if __name__ == "__main__":
    DemoServer("sales", served(Book()), INSTRUCTIONS).serve()
