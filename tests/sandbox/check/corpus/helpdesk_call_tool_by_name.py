import json
for name, args in [("list_people", {"team": "billing"}), ("sla_hours", {"priority": "low"})]:
    r = await call_tool(f"mcp__helpdesk__{name}", **args)
    print(name, json.dumps(r)[:60])
r = await call_tool("mcp__helpdesk__list_tickets", limit=1)
print(r["tickets"][0]["id"] > 0)
