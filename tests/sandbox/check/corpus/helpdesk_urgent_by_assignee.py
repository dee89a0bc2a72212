from collections import Counter
tickets = (await mcp__helpdesk__list_tickets(priority="urgent", limit=50))["tickets"]
c = Counter(t["assignee"] or "unassigned" for t in tickets)
for who, n in c.most_common():
    print(f"{who:<12}{n}")
