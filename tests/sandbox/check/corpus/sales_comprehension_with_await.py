ids = [c["customer_id"] for c in (await mcp__sales__sales_top_customers(limit=3))["customers"]]
d = {i: await mcp__sales__customer_details(customer_id=i) for i in ids}
print({v["name"]: (v["email"], v["customer_since"]) for v in d.values()})
biggest = {i: max((o["total_cents"] for o in (await mcp__sales__order_history(customer_id=i))["orders"]), default=0) for i in ids}
print(biggest)
