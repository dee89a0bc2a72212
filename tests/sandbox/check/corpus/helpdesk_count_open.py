r = await mcp__helpdesk__list_tickets(status="open")
r = r["tickets"]
r = len(r)
print("open:", r)
