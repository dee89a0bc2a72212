"""Print how much of a year's revenue comes from the ten best customers."""

import asyncio

top, statements = await asyncio.gather(
    mcp__sales__sales_top_customers(period="year", limit=10),
    mcp__financials__query_financials(ticker="ALDR", statement="income", limit=1),
)
from_them = sum(customer["total_revenue"] for customer in top["customers"])
for customer in top["customers"][:3]:
    print(f"{customer['name']:<20} {customer['total_revenue']:>14,.2f} USD")
print(f"{'the ten best':<20} {from_them:>14,.2f} USD")
print(f"{'the firm':<20} {statements[0]['revenue']:>14,.0f} USD in {statements[0]['date'][:4]}")
