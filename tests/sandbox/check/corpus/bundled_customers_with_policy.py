import asyncio
top, docs = await asyncio.gather(
    mcp__sales__sales_top_customers(limit=2),
    mcp__doc_retrieval__search_docs(query="segment customers", limit=1),
)
print(docs[0]["title"])
for c in top["customers"]:
    print("-", c["name"], c["last_order_date"])
