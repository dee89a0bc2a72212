rows = await mcp__financial_data__query_financials(ticker="ALDR", statement="cashflow", limit=3)
for r in rows:
    print(r["date"], r["operatingCashFlow"], r["freeCashFlow"], r["dividendsPaid"], r["netChangeInCash"])
print(sum(r["capitalExpenditure"] for r in rows))
