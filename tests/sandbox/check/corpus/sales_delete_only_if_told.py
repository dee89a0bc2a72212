confirm = False
found = (await mcp__sales__customer_search(query="Blue Heron"))["customers"]
if confirm and found:
    gone = await mcp__sales__delete_customer(customer_id=found[0]["customer_id"])
    print(gone["orders_removed"])
else:
    print("would delete", [f["name"] for f in found])
