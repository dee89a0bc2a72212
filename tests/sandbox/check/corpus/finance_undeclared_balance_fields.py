b = (await mcp__financial_data__query_financials(ticker="ALDR", statement="balance", limit=1))[0]
print(b["cash"], b["totalAssets"] == b["totalLiabilities"] + b["totalEquity"])
print(f"debt/equity {b['totalLiabilities'] / b['totalEquity']:.2f}", b.get("goodwill", 0))
