from collections import defaultdict
from statistics import mean, pstdev
groups = defaultdict(list)
for t in (await mcp__helpdesk__list_tickets(limit=50))["tickets"]:
    if t["estimate_hours"]:
        groups[t["priority"]].append(t["estimate_hours"])
for p in ["urgent", "high", "normal", "low"]:
    v = groups.get(p, [])
    if v:
        print(f"{p:8} n={len(v):2} mean={mean(v):5.2f} sd={pstdev(v):4.2f}")
