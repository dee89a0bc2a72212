rows = (await mcp__helpdesk__list_tickets(limit=4))["tickets"]
out = [{**t, "company": t["customer"]["email"].split("@")[1].split(".")[0]} for t in rows]
out = [o | {"key": f"{o['company']}-{o['id']}"} for o in out]
print([o["key"] for o in out])
flat = [dict(t, plan=t["customer"]["plan"]) for t in rows]
print({f["id"]: f["plan"] for f in flat})
