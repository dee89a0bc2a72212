import asyncio
cs = (await mcp__sales__sales_top_customers(limit=12))["customers"]
ds = await asyncio.gather(*(mcp__sales__customer_details(customer_id=c["customer_id"]) for c in cs))
risk = [d for d in ds if d["health_score"] < 50]
risk.sort(key=lambda d: d["health_score"])
for d in risk:
    print(d["name"], d["health_score"], d["last_contact"][:10], d.get("city", "?"))
