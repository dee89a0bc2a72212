from collections import Counter
from datetime import datetime, timedelta
load = Counter()
for m in (await mcp__helpdesk__calendar(start="2026-07-06"))["meetings"]:
    for a in m["attendees"]:
        load[a] += m["minutes"]
    end = datetime.fromisoformat(m["starts"].replace("Z", "+00:00")) + timedelta(minutes=m["minutes"])
print(load.most_common(2), end.isoformat())
print({k: f"{v / 60:.1f}h" for k, v in load.items()})
