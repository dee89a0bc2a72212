total = 0
for status in ["open", "pending", "closed"]:
    r = await mcp__helpdesk__list_tickets(status=status, limit=1)
    print(status, r["total"])
    total += r["total"]
print("sum", total)
