import json
all_tickets = []
cursor = None
while True:
    page = await mcp__helpdesk__list_tickets(limit=7, cursor=cursor)
    all_tickets.extend(page["tickets"])
    cursor = page["next_cursor"]
    if not cursor:
        break
print(json.dumps({"n": len(all_tickets), "first": all_tickets[0]["title"], "last": all_tickets[-1]["id"]}))
