"""Return what share of a customer's orders was cancelled."""

from typing import TypedDict


class Share(TypedDict):
    customer_id: str
    orders: int
    cancelled: int


async def main(customer_id: str, most: int = 200) -> Share:
    orders: list[dict] = []
    cursor = None
    while len(orders) < most:
        page = await mcp__sales__order_history(
            customer_id=customer_id, limit=50, **({"cursor": cursor} if cursor else {})
        )
        orders += page["orders"]
        cursor = page["pagination"].get("next_cursor")
        if not page["pagination"]["has_more"]:
            break
    gone = [order for order in orders if order["status"] == "cancelled"]
    return {"customer_id": customer_id, "orders": len(orders), "cancelled": len(gone)}
