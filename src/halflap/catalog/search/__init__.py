"""Search over the callable tools: exact names first, then the tools whose texts fit the words best.

Read `index` first: it explains the ranking and the scores. `words` turns text in any language into terms, `terms` weighs
them (BM25F). Search does not use learned schemas, and sends no requests to servers.
"""

from halflap.catalog.search.finder import Finder, Hit

__all__ = ["Finder", "Hit"]
