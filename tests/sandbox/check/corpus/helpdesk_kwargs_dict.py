args = {"status": "open", "limit": 3}
if args["limit"] < 5:
    args["priority"] = "high"
r = await mcp__helpdesk__list_tickets(**args)
print(r["total"], [t["title"] for t in r["tickets"]])
