async def find(status=None, priority=None, assignee=None):
    kw = {k: v for k, v in dict(status=status, priority=priority, assignee=assignee).items() if v}
    return await mcp__helpdesk__list_tickets(**kw)

print((await find())["total"], (await find("open"))["total"], (await find(assignee="kofi"))["total"])
