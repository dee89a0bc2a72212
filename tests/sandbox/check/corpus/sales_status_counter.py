from collections import Counter
c = Counter()
for q in ("enterprise", "smb"):
    for cust in (await mcp__sales__customer_search(query=q))["customers"]:
        h = await mcp__sales__order_history(customer_id=cust["customer_id"], limit=100)
        c.update(o["status"] for o in h["orders"])
print(dict(c), f"{c['cancelled'] / sum(c.values()):.1%} cancelled")
