import asyncio, json
tickers = "ALDR BRKW NOPE".split()
async def last(t):
    try:
        rows = await mcp__financial_data__query_financials(ticker=t, statement="income", limit=1)
    except Exception as e:
        return {"ticker": t, "error": str(e)[:20]}
    return {"ticker": t, **rows[0]}
table = await asyncio.gather(*map(last, tickers))
print(json.dumps([x for x in table if "error" not in x], default=str)[:90])
for x in table:
    if "error" in x: print(x["ticker"], x["error"])
