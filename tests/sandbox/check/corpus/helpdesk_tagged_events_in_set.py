from itertools import groupby
evs = (await mcp__helpdesk__ticket_events(ticket_id=109))["events"]
who = {e["by"] for e in evs if e["kind"] in ("opened", "commented")}
evs.sort(key=lambda e: e["kind"])
print(sorted(who), {k: len(list(g)) for k, g in groupby(evs, key=lambda e: e["kind"])})
