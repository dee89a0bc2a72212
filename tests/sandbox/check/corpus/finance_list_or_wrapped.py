r = await mcp__financial_data__query_financials(ticker="ALDR", statement="income")
rows = r if isinstance(r, list) else r["result"]
avg = sum(x["revenue"] for x in rows) / len(rows)
print(round(avg), [x.get("eps") for x in rows][:1])
