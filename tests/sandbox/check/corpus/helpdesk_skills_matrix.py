people = await mcp__helpdesk__list_people()
skills = sorted({s for p in people for s in p["skills"]})
print("name".ljust(12), *skills)
for p in people:
    print(p["name"].ljust(12), *[str(p["skills"].get(s, 0)).center(len(s)) for s in skills])
