counts = await mcp__helpdesk__count_tickets(by="priority")
for k, v in sorted(counts.items(), key=lambda kv: -kv[1]):
    print(k, v, "#" * v)
print(counts.get("urgent", 0) + counts.get("blocker", 0), counts["high"])
