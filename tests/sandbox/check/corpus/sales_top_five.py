top = await mcp__sales__sales_top_customers(period="year", limit=5)
for i, c in enumerate(top["customers"], 1):
    print(f"{i}. {c['name']}: ${c['total_revenue']:,.2f} in {c['order_count']} orders")
