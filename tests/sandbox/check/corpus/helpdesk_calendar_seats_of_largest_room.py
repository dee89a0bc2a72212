ms = (await mcp__helpdesk__calendar(start="2026-07-06", days=5))["meetings"]
rooms = {m["room"]["name"]: m["room"]["seats"] for m in ms if m["room"] is not None}
r = max(rooms.items(), key=lambda x: x[1])
print(r, sum(1 for m in ms if not m["room"]))
