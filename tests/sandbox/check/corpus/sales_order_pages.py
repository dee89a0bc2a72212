cid = (await mcp__sales__customer_search(query="acme"))["customers"][0]["customer_id"]
orders, cursor, more = [], None, True
while more:
    kw = {"customer_id": cid, "limit": 40}
    if cursor:
        kw["cursor"] = cursor
    page = await mcp__sales__order_history(**kw)
    orders += page["orders"]
    more = page["pagination"]["has_more"]
    cursor = page["pagination"].get("next_cursor")
print(len(orders), sum(o["total_cents"] for o in orders) / 100)
