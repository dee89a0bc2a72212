out = {}
for s in ("income", "balance", "cashflow"):
    rows = await mcp__financial_data__query_financials(ticker="BRKW", statement=s, period="quarter", limit=2)
    out[s] = rows
    print(s, sorted(rows[0])[:4])
print(out["balance"][0]["cash"] - out["balance"][1]["cash"] == out["cashflow"][0]["netChangeInCash"])
