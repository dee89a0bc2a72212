lines = ["# Report"]
c = (await mcp__sales__sales_top_customers(period="month", limit=1))["customers"][0]
lines.append(f"Best customer: {c['name']} ({c['total_revenue']:.0f} USD)")
f = (await mcp__financial_data__query_financials(ticker="ALDR", statement="income", period="quarter", limit=1))[0]
lines += [f"Revenue {f['period']}: {f['revenue']:,}"]
for d in await mcp__doc_retrieval__search_docs(query="revenue", limit=2):
    lines.append(f"See {d['doc_id']}: {d['title']}")
print("\n".join(lines))
