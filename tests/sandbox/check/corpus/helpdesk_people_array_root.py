people = await mcp__helpdesk__list_people()
by_login = {p["login"]: p for p in people}
for p in people:
    boss = by_login[p["manager"]]["name"] if p["manager"] else "nobody"
    print(f"{p['name']} reports to {boss}; best at {max(p['skills'], key=p['skills'].get)}")
