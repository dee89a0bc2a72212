import re
pat = re.compile(r"\b(invoice|export|search)\b", re.I)
hits = {}
for t in (await mcp__helpdesk__list_tickets(limit=50))["tickets"]:
    if m := pat.search(t["title"]):
        hits.setdefault(m.group(1).lower(), []).append(t["id"])
print({k: len(v) for k, v in hits.items()})
