r = await mcp__helpdesk__list_people(team="support")
people = r["result"] if isinstance(r, dict) and "result" in r else r
names = [p["name"] for p in people]
print(names or "none")
