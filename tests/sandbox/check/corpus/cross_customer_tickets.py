import asyncio, json
names, people = await asyncio.gather(mcp__sales__customer_search(query="smb"), mcp__helpdesk__list_people())
owner = next((p for p in people if p["team"] == "billing"), None)
out = []
for c in names["customers"]:
    t = await mcp__helpdesk__create_ticket(title=f"Call {c['name']}", body=c["customer_id"], priority="low")
    out.append({"customer": c["name"], "ticket": t["id"], "owner": owner["login"] if owner else None})
print(json.dumps(out, indent=1))
