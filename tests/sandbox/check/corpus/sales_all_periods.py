import asyncio
periods = ["month", "quarter", "year"]
res = await asyncio.gather(*[mcp__sales__sales_top_customers(period=p) for p in periods])
for r in res:
    rev = sum(c["total_revenue"] for c in r["customers"])
    print(r["period"], round(rev), r["generated_at"][:10])
