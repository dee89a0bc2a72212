from typing import Any, Optional
async def titles(status: str, limit: int = 5) -> list[str]:
    r: dict[str, Any] = await mcp__helpdesk__list_tickets(status=status, limit=limit)
    return [t["title"] for t in r["tickets"]]
async def owner(i: int) -> Optional[str]:
    t = await mcp__helpdesk__get_ticket(ticket_id=i)
    return t["assignee"]
x: list = await titles("open")
print(x[0], await owner(101), await owner(106))
