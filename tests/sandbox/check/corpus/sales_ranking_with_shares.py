top = (await mcp__sales__sales_top_customers(period="quarter", limit=6))["customers"]
total = sum(c["total_revenue"] for c in top)
acc = 0
for c in top:
    c["share"] = c["total_revenue"] / total
    acc += c["share"]
    c["cumulative"] = acc
print([(c["name"], f"{c['share']:.1%}", f"{c['cumulative']:.1%}") for c in top])
