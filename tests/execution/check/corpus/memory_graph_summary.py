from collections import Counter
g = await mcp__memory__read_graph()
types = Counter(e["entityType"] for e in g["entities"])
rels = Counter(r["relationType"] for r in g["relations"])
print("entities:", sum(types.values()), dict(types))
print("relations:", sum(rels.values()) if rels else "none")
