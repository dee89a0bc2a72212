new = await mcp__helpdesk__create_ticket(title="Move me", body="x")
u = await mcp__helpdesk__update_ticket(ticket_id=new["id"], changes={"status": "pending", "assignee": "jonas", "estimate_hours": 2})
print(u["changed"])
changes = {}
changes["priority"] = "low"
changes["assignee"] = None
u = await mcp__helpdesk__update_ticket(ticket_id=new["id"], changes=changes)
print(u["id"] == new["id"], ", ".join(u["changed"]))
