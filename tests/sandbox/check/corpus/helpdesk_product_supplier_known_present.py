p = await mcp__helpdesk__product(sku="CHAIR-2")
print(p["supplier"]["name"], p["supplier"]["country"], p["attributes"]["weightKg"])
d = await mcp__helpdesk__product(sku="DESK-4")
if "supplier" in d:
    print(d["supplier"]["name"])
try:
    print(d["warranty"])
except KeyError:
    print("no warranty")
