r = await mcp__helpdesk__list_tickets(assignee=None, limit=50)
for t in r["tickets"]:
    assert t["assignee"] is None
print("unassigned:", r["total"])
