import asyncio
cs = (await mcp__sales__customer_search(query="enterprise"))["customers"]
ents = [{"name": c["name"], "entityType": "customer", "observations": [f"id {c['customer_id']}", c["segment"]]} for c in cs]
await mcp__memory__create_entities(entities=ents)
g = await mcp__memory__open_nodes(names=[c["name"] for c in cs])
for e in g["entities"]:
    print(e["name"], e["entityType"], len(e["observations"]))
await mcp__memory__delete_entities(entityNames=[c["name"] for c in cs])
