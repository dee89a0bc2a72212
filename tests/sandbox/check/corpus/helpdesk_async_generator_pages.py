async def tickets(**filters):
    cursor = None
    while True:
        page = await mcp__helpdesk__list_tickets(cursor=cursor, limit=5, **filters)
        for t in page["tickets"]:
            yield t
        cursor = page["next_cursor"]
        if cursor is None:
            return

titles = [t["title"] async for t in tickets(status="closed")]
print(len(titles), sorted(set(titles))[:3])
async for t in tickets(priority="high"):
    print(t["id"], t["customer"]["plan"])
    break
