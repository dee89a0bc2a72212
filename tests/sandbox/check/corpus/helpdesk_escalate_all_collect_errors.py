import asyncio
ids = [t["id"] for t in (await mcp__helpdesk__list_tickets(limit=12))["tickets"]] + [999]
res = await asyncio.gather(*(mcp__helpdesk__escalate(ticket_id=i, reason="again") for i in ids), return_exceptions=True)
ok = [r for r in res if not isinstance(r, Exception)]
bad = [str(r) for r in res if isinstance(r, Exception)]
print(len(ok), "ok, levels", {r["level"] for r in ok})
print(len(bad), "refused, e.g.", bad[-1])
