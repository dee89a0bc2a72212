import asyncio
ps = ("low", "normal", "high", "urgent")
hours = dict(zip(ps, await asyncio.gather(*(mcp__helpdesk__sla_hours(priority=p) for p in ps))))
late = []
for t in (await mcp__helpdesk__list_tickets(status="pending", limit=50))["tickets"]:
    if (t["estimate_hours"] or 0) > hours[t["priority"]]:
        late.append((t["id"], t["priority"]))
print(late, {k: round(v) for k, v in hours.items()})
