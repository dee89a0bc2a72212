import calendar
q = await mcp__financial_data__query_financials(ticker="ALDR", statement="income", period="quarter", limit=28)
best = max(q, key=lambda r: r["revenue"])
y, m, _ = map(int, best["date"].split("-"))
print(best["period"], calendar.month_name[m], y, f"{best['revenue'] / 1e6:,.1f}M")
