t = await mcp__helpdesk__create_ticket(title="Printer on fire", body="It really is.", priority="urgent", tags=["hardware"])
c = await mcp__helpdesk__add_comment(ticket_id=t["id"], text="On my way", internal=True)
back = await mcp__helpdesk__get_ticket(ticket_id=t["id"])
assert back["comments"][0]["text"] == c["text"]
print(t["url"], c["internal"], back["status"])
