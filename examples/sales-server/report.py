"""A program: how the best customers of the quarter are, and how much they ordered so far."""

top = await mcp__sales__sales_top_customers(period="quarter", limit=3)
if not top["success"]:
    raise ValueError(top["error"]["message"])
for customer_id in [*(one["customer_id"] for one in top["data"]["customers"]), "CUST-999"]:
    details = await mcp__sales__customer_details(customer_id=customer_id)
    if not details["success"]:
        print(f"{customer_id}: {details['error']['code']}")
        continue
    orders = await mcp__sales__order_history(customer_id=customer_id, limit=1)
    if orders["success"]:
        who, count = details["data"], orders["data"]["pagination"]["total_count"]
        print(f"{who['name']} ({who['segment']}, health {who['health_score']}): {count} orders")
