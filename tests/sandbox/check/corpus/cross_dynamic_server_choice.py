src = {"docs": mcp__doc_retrieval__search_docs, "notes": mcp__helpdesk__search_notes}
for k in src:
    for hit in await src[k](query="refund", limit=2):
        print(k, hit["title"], hit.get("score", hit.get("views", "-")))
