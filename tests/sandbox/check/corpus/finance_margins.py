rows = await mcp__financial_data__query_financials(ticker="ALDR", statement="income", limit=5)
for r in rows:
    print(r["period"], f"{r['netIncome'] / r['revenue']:.1%}", f"{r['operatingIncome'] / r['revenue']:.1%}")
