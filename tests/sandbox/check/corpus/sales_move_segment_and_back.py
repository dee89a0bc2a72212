c = (await mcp__sales__customer_search(query="Pinecrest"))["customers"][0]
before = c["segment"]
for s in ("mid-market", before):
    r = await mcp__sales__update_customer_segment(customer_id=c["customer_id"], segment=s)
    print(r["customer_id"], r["segment"])
