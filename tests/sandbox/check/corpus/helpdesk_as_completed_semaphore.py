import asyncio
sem = asyncio.Semaphore(2)
async def one(i):
    async with sem:
        return i, await mcp__helpdesk__get_ticket(ticket_id=i)
done = {}
for f in asyncio.as_completed([one(i) for i in range(101, 107)]):
    i, t = await f
    done[i] = t["title"]
print(dict(sorted(done.items())))
