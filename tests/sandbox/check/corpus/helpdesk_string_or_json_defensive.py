import json
r = await mcp__helpdesk__list_tickets(limit=2)
if isinstance(r, str):
    r = json.loads(r)
if isinstance(r, list):
    rows = r
else:
    rows = r.get("tickets") or r.get("items") or r.get("data") or []
for x in rows:
    print(x.get("id"), x.get("name", x.get("title", "?")))
