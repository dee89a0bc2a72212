import asyncio, json
rows = [("Lamp is dark", "low"), ("Chair squeaks", "normal"), ("Desk moves by itself", "high")]
made = await asyncio.gather(*(mcp__helpdesk__create_ticket(title=t, body=t + "!", priority=p, due="2026-07-15") for t, p in rows))
ids = [m["id"] for m in made]
print(json.dumps(ids), len(set(ids)) == len(rows))
