r = await mcp__sales__customer_search(query="robotics")
if isinstance(r, dict):
    rows = r["customers"]
elif isinstance(r, list):
    rows = r
else:
    rows = []
first = rows[0] if rows else None
if first is not None and isinstance(first.get("name"), str):
    print(first["name"].lower())
else:
    print("nothing")
