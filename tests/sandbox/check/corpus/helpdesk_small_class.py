class Desk:
    def __init__(self):
        self.cache = {}
        self.calls = 0
    async def ticket(self, i):
        if i not in self.cache:
            self.calls += 1
            self.cache[i] = await mcp__helpdesk__get_ticket(ticket_id=i)
        return self.cache[i]

d = Desk()
for i in (101, 102, 101):
    t = await d.ticket(i)
    print(t["id"], t["title"])
print(d.calls)
