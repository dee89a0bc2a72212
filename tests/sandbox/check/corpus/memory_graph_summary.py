from collections import Counter
await mcp__memory__create_entities(entities=[{"name": n, "entityType": "planet", "observations": []} for n in ("Mars", "Venus")])
await mcp__memory__create_relations(relations=[{"from": "Mars", "to": "Venus", "relationType": "follows"}])
g = await mcp__memory__read_graph()
types = Counter(e["entityType"] for e in g["entities"])
rels = Counter(r["relationType"] for r in g["relations"])
print("entities:", sum(types.values()), dict(types))
print("relations:", sum(rels.values()) if rels else "none")
await mcp__memory__delete_entities(entityNames=["Mars", "Venus"])
