import json
r = await mcp__doc_retrieval__search_docs(query="travel")
try:
    data = json.loads(r)
except TypeError:
    data = r
if isinstance(data, dict):
    data = data.get("results", [])
print([d["title"] for d in data][:2], "found" if data else "nothing")
