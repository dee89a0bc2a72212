from itertools import islice, chain
from operator import itemgetter
ts = (await mcp__helpdesk__list_tickets(limit=30))["tickets"]
for i, title in islice(map(itemgetter("id", "title"), ts), 2): print(i, title)
tags = sorted(set(chain.from_iterable(t["tags"] for t in ts)))
print(tags)
