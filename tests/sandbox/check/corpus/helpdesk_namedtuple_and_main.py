import asyncio
from collections import namedtuple
Stat = namedtuple("Stat", "status n share")

async def main():
    c = await mcp__helpdesk__count_tickets(by="status")
    total = sum(c.values())
    for s in sorted((Stat(k, v, v / total) for k, v in c.items()), key=lambda s: s.n):
        print(f"{s.status}: {s.n} ({s.share:.0%})")

asyncio.run(main())
