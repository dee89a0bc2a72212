import sys
r = await mcp__helpdesk__list_tickets(priority="urgent", status="open")
print("urgent and open:", r["total"])
if r["total"] < 1000:
    sys.exit()
print(r["tickets"][5000])
