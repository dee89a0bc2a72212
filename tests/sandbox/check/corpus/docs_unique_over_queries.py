seen = {}
for q in ["refund", "cancelled orders", "privacy", "zzz"]:
    for h in await mcp__doc_retrieval__search_docs(query=q):
        if h["doc_id"] not in seen or h["score"] > seen[h["doc_id"]]["score"]:
            seen[h["doc_id"]] = h
best = sorted(seen.values(), key=lambda h: h["score"], reverse=True)
print(len(seen), best[0]["title"], best[0]["score"] > best[-1]["score"])
