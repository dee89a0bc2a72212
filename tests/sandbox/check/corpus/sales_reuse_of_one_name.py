x = await mcp__sales__sales_top_customers(period="month")
x = x["customers"]
x = [c for c in x if c["order_count"] > 2]
x = {c["customer_id"]: c["total_revenue"] / c["order_count"] for c in x}
x = sorted(x.items(), key=lambda kv: kv[1])
x = x[-1] if x else ("none", 0)
print(*x)
