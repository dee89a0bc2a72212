lines = (await mcp__helpdesk__export_csv()).splitlines()
head, *body = [l.split(",") for l in lines]
i = head.index("priority")
from collections import Counter
print(Counter(b[i] for b in body))
