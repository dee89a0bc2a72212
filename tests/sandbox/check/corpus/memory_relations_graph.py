from collections import defaultdict
people = ["ann", "bob", "cy"]
await mcp__memory__create_entities(entities=[{"name": p, "entityType": "person", "observations": []} for p in people])
await mcp__memory__create_relations(relations=[{"from": a, "to": b, "relationType": "knows"} for a, b in zip(people, people[1:])])
g = await mcp__memory__open_nodes(names=people)
adj = defaultdict(set)
for r in g["relations"]:
    adj[r["from"]].add(r["to"])
print({k: sorted(v) for k, v in adj.items()}, g["relations"][0]["relationType"])
await mcp__memory__delete_entities(entityNames=people)
