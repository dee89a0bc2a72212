rows = await mcp__financial_data__query_financials(ticker="BRKW", statement="income", period="annual", limit=6)
rows = rows[::-1]
g = [(b["date"][:4], b["revenue"] / a["revenue"] - 1) for a, b in zip(rows, rows[1:])]
best = max(g, key=lambda t: t[1])
print(*(f"{y} {x:+.1%}" for y, x in g), "best", best[0])
