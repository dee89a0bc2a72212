evs = (await mcp__helpdesk__ticket_events(ticket_id=107))["events"]
for e in evs:
    if e["kind"] == "commented":
        print(e["at"], e["by"], e["text"])
    elif e["kind"] == "assigned":
        print(e["at"], "->", e["to"] or "nobody")
    elif e["kind"] == "moved":
        print(e["at"], e["old"], e["new"])
    else:
        print(e["at"], e["by"])
