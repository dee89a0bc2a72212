notes = await mcp__helpdesk__search_notes(query="export refund code", limit=10)
for n in notes:
    print(n["title"], "|", n.get("author", "unknown"), n.get("views"))
top = max(notes, key=lambda n: n.get("views", 0))
print(top["body"].upper())
