e = {"name": "Kiln", "entityType": "project", "observations": ["fires clay"]}
r = await mcp__memory__create_entities(entities=[e])
print(len(r["entities"]))
f = await mcp__memory__search_nodes(query="clay")
print([x["name"] for x in f["entities"]], f["relations"])
d = await mcp__memory__delete_entities(entityNames=["Kiln"])
print(d["success"], d["message"])
