steps = [
    (mcp__helpdesk__sla_hours, {"priority": "high"}),
    (mcp__helpdesk__count_tickets, {"by": "status"}),
    (mcp__helpdesk__product, {"sku": "MUG-3"}),
]
results = [await fn(**kw) for fn, kw in steps]
hours, counts, mug = results
print(hours + 1, counts["open"], mug["price"])
