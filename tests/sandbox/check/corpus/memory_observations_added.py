await mcp__memory__create_entities(entities=[{"name": "log", "entityType": "diary", "observations": ["first"]}])
r = await mcp__memory__add_observations(observations=[{"entityName": "log", "contents": ["second", "third"]}])
print(r["results"][0]["addedObservations"])
await mcp__memory__delete_observations(deletions=[{"entityName": "log", "observations": ["first"]}])
n = (await mcp__memory__open_nodes(names=["log"]))["entities"][0]
print(n["observations"], n["entityType"])
await mcp__memory__delete_entities(entityNames=["log"])
