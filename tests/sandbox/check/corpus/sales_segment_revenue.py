from collections import defaultdict
seg = defaultdict(lambda: {"revenue": 0.0, "n": 0})
for c in (await mcp__sales__sales_top_customers(period="year", limit=50))["customers"]:
    d = await mcp__sales__customer_details(customer_id=c["customer_id"])
    s = seg[d["segment"]]
    s["revenue"] += c["total_revenue"]
    s["n"] += 1
for k, v in sorted(seg.items(), key=lambda kv: kv[1]["revenue"], reverse=True):
    print(f"{k:<12} {v['n']:>2} {v['revenue']:>14,.0f} {v['revenue'] / v['n']:>12,.0f}")
