import asyncio
txt = (await mcp__files__read_text_file(path="notes/todo.md"))["content"]
todo = [l[6:].strip() for l in txt.splitlines() if l.startswith("- [ ] ")]
ts = await asyncio.gather(*[mcp__helpdesk__create_ticket(title=t, body="from the list", tags=["todo"]) for t in todo])
for title, t in zip(todo, ts):
    print(t["id"], t["status"], title)
