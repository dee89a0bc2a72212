import asyncio
out = {}
async def load(key, coro):
    out[key] = await coro
async with asyncio.TaskGroup() as tg:
    tg.create_task(load("people", mcp__helpdesk__list_people()))
    tg.create_task(load("open", mcp__helpdesk__list_tickets(status="open")))
    tg.create_task(load("plans", mcp__helpdesk__count_tickets(by="plan")))
print(len(out["people"]), out["open"]["total"], sorted(out["plans"]))
