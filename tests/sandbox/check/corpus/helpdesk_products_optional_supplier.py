skus = await mcp__helpdesk__list_skus()
for sku in skus:
    p = await mcp__helpdesk__product(sku=sku)
    s = p.get("supplier", {}).get("country", "n/a")
    print(p["name"], s, p.get("colour"), p.get("attributes", {}).get("weightKg", 0))
