t = await mcp__helpdesk__get_ticket(ticket_id=105)
for k in ("id", "title", "status", "estimate_hours"):
    print(k, "=", t[k])
wanted = ["priority", "nope"]
print({k: t[k] for k in wanted if k in t})
for key in sorted(t):
    value = t[key]
    if isinstance(value, (list, dict)):
        print(key, len(value))
