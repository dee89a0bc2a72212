counts = {}
for p in "low normal high urgent".split():
    counts[p] = (await mcp__helpdesk__list_tickets(priority=p, limit=1))["total"]
best = max(counts, key=counts.get)
print(best, counts[best], counts)
