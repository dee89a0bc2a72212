hits = await mcp__doc_retrieval__search_docs(query="refund", limit=3)
for h in hits:
    d = await mcp__doc_retrieval__get_doc(doc_id=h["doc_id"])
    print(d["title"], "by", d["author"], d["updated"], d["tags"])
