items = [{"sku": "MUG-3", "quantity": 10}]
quotes = [await mcp__helpdesk__quote(items=items, currency=c) for c in ("EUR", "USD", "GBP")]
q = min(quotes, key=lambda q: q["total"])
print(f"{q['total']:,.2f} {q['currency']}", [x["lines"][0]["unitPrice"] for x in quotes])
