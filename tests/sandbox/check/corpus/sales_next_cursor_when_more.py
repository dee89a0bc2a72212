page = await mcp__sales__order_history(customer_id="CUST-001", limit=50)
n = len(page["orders"])
while page["pagination"]["has_more"]:
    page = await mcp__sales__order_history(customer_id="CUST-001", limit=50, cursor=page["pagination"]["next_cursor"])
    n += len(page["orders"])
print(n, page["pagination"]["total_count"])
