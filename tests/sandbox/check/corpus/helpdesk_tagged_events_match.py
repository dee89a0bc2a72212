log = []
for tid in range(101, 106):
    for e in (await mcp__helpdesk__ticket_events(ticket_id=tid))["events"]:
        match e:
            case {"kind": "opened", "by": who}:
                log.append(f"{tid} opened by {who}")
            case {"kind": "moved", "old": a, "new": b}:
                log.append(f"{tid} {a}->{b}")
            case {"kind": "commented", "text": text}:
                log.append(f"{tid} said {text[:10]!r}")
            case _:
                log.append(f"{tid} {e['kind']}")
print("\n".join(log))
