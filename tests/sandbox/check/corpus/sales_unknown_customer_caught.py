async def name(i):
    try:
        return (await mcp__sales__customer_details(customer_id=i))["name"]
    except ToolError as e:
        return f"error: {str(e)[:30]}"
print([await name(i) for i in ("CUST-001", "CUST-999")])
