import re
from collections import Counter
words = Counter()
for h in await mcp__doc_retrieval__search_docs(query="customers orders security", limit=10):
    doc = await mcp__doc_retrieval__get_doc(doc_id=h["doc_id"])
    words.update(w for w in re.findall(r"[a-z]+", doc["content"].lower()) if len(w) > 5)
print(words.most_common(5))
