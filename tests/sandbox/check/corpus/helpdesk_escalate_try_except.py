closed = (await mcp__helpdesk__list_tickets(status="closed", limit=1))["tickets"][0]
try:
    r = await mcp__helpdesk__escalate(ticket_id=closed["id"], reason="customer called")
    print("escalated to", r["escalated_to"])
except ToolError as e:
    print("refused:", e)
