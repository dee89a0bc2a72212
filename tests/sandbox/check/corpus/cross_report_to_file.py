c = await mcp__helpdesk__count_tickets(by="status")
top = (await mcp__sales__sales_top_customers(limit=3))["customers"]
text = "\n".join([f"{k}: {v}" for k, v in c.items()] + [f"{t['name']}\t{t['order_count']}" for t in top])
r = await mcp__files__write_file(path="report.txt", content=text)
print(r["content"])
back = (await mcp__files__read_text_file(path="report.txt"))["content"]
print(back == text, back.count("\n") + 1)
