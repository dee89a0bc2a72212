import json
t = await mcp__helpdesk__get_ticket(ticket_id=113)
comments = t.pop("comments")
del t["customer"]
t.pop("metadata", None)
t["n_comments"] = len(comments)
t["tags"] = ",".join(t["tags"])
print(json.dumps(t, indent=1, sort_keys=True))
