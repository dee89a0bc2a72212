cal = await mcp__helpdesk__calendar(start="2026-07-06", days=3, include_cancelled=True)
for m in cal["meetings"]:
    room = m["room"]["name"] if m.get("room") else "online"
    flag = " (cancelled)" if m.get("cancelled") else ""
    print(m["starts"][:16], m["title"], "@", room + flag)
