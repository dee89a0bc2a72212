import json
table = {}
for by in ("status", "priority", "assignee", "plan"):
    table[by] = await mcp__helpdesk__count_tickets(by=by)
print(json.dumps(table, indent=2))
print({by: sum(c.values()) for by, c in table.items()})
