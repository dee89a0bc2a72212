page = await mcp__helpdesk__list_tickets(limit=10)
rows = page["tickets"]
while (cur := page["next_cursor"]) is not None:
    page = await mcp__helpdesk__list_tickets(limit=10, cursor=cur)
    rows += page["tickets"]
print(len(rows), page["total"], len(rows) == page["total"])
