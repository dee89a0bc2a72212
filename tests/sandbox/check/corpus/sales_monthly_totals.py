from itertools import groupby
h = await mcp__sales__order_history(customer_id="CUST-003", limit=200)
rows = sorted(h["orders"], key=lambda o: o["date"])
for month, g in groupby(rows, key=lambda o: o["date"][:7]):
    g = list(g)
    print(month, len(g), sum(x["total_cents"] for x in g) // 100)
