t = await mcp__helpdesk__get_ticket(ticket_id=103)
t.update(score=len(t["comments"]) * 2, seen=True)
t.setdefault("labels", []).append("checked")
t["metadata"]["reviewed"] = "yes"
print(t["score"], t["seen"], t["labels"], t["metadata"]["reviewed"], t["metadata"]["channel"])
