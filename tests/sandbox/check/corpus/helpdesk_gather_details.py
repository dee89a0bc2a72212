import asyncio
open_ = (await mcp__helpdesk__list_tickets(assignee="lucia", limit=9))["tickets"]
full = await asyncio.gather(*[mcp__helpdesk__get_ticket(ticket_id=t["id"]) for t in open_])
for t in full:
    last = t["comments"][-1]["text"] if t["comments"] else "-"
    print(t["id"], t["metadata"].get("channel", "?"), last)
