rank = {"urgent": 0, "high": 1, "normal": 2, "low": 3}
ts = (await mcp__helpdesk__list_tickets(status="open", limit=50))["tickets"]
ts = sorted(ts, key=lambda t: (rank[t["priority"]], t["created"]))
print("\n".join("{id} {priority:<7} {created}".format(**t) for t in ts[:5]))
print("%(id)d: %(title)s" % ts[0])
