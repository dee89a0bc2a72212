w = await mcp__everything__get_structured_content(location="New York")
cal = await mcp__helpdesk__calendar(start="2026-07-01", days=1)
for m in cal["meetings"]:
    r = m["room"]
    where = f"{r['name']}/{r['floor']}" if r else ("online" if w["temperature"] > 0 else "home")
    print(m["title"], where, cal["timezone"])
