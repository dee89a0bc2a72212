events = (await mcp__helpdesk__ticket_events(ticket_id=111))["events"]
# the first is always the opening, the second the assignment
print(events[0]["by"], "->", events[1]["to"])
said = [e["text"] for e in events if e["kind"] == "commented"]
print(said, [e.get("by") for e in events], [e.get("text", "") for e in events])
