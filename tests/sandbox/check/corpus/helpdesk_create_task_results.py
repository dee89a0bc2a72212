import asyncio
a = asyncio.create_task(mcp__helpdesk__list_tickets(status="open", limit=2))
b = asyncio.create_task(mcp__helpdesk__list_people(team="platform"))
tickets = (await a)["tickets"]
people = await b
print([t["id"] for t in tickets], people[0]["login"])
await asyncio.sleep(0)
print(a.result()["total"], b.done())
