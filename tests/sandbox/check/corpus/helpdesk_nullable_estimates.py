import statistics
ts = (await mcp__helpdesk__list_tickets(limit=50))["tickets"]
est = [t["estimate_hours"] for t in ts if t["estimate_hours"] is not None]
print("mean", round(statistics.mean(est), 2), "median", statistics.median(est))
print("total", sum(t["estimate_hours"] or 0 for t in ts))
longest = max(ts, key=lambda t: t["estimate_hours"] or 0)
print(longest["id"], f"{longest['estimate_hours']:.1f}h")
