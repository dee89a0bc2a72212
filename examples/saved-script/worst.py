"""Find which of the best customers cancels most."""

import asyncio

top = await mcp__sales__sales_top_customers(period="year", limit=5)
shares = await asyncio.gather(
    *(script__cancelled(customer_id=customer["customer_id"]) for customer in top["customers"])
)
worst = max(shares, key=lambda share: share["cancelled"] / share["orders"])
print(worst)
