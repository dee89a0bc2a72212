import asyncio, math
skus = await mcp__helpdesk__list_skus()
ps = await asyncio.gather(*[mcp__helpdesk__product(sku=s) for s in skus])
low = sorted((p for p in ps if p["inStock"] < 5), key=lambda p: p["inStock"])
for p in low:
    need = 10 - p["inStock"]
    print(p["sku"], "order", need, "for", math.ceil(need * p["price"]))
value = sum(p["price"] * p["inStock"] for p in ps)
print(f"stock value {value:,.0f}")
