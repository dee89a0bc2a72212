"""A dozen internal documents of a fictional company: a server that does not declare what it returns."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from halflap.demo._serving import DemoServer, RefusedError, ServedTool

TITLE_WEIGHT = 3
"""A word in the title counts like three in the text."""


@dataclass(frozen=True)
class Document:
    doc_id: str
    title: str
    author: str
    updated: str
    tags: tuple[str, ...]
    content: str


_DATA = json.loads(Path(__file__).with_name("documents.json").read_text(encoding="utf-8"))
DOCUMENTS = tuple(Document(**{**one, "tags": tuple(one["tags"])}) for one in _DATA)


def search_docs(query: str, limit: int = 5) -> list[dict[str, Any]]:
    wanted = set(_words(query))
    found: list[dict[str, Any]] = [
        {
            "title": document.title,
            "content": _excerpt(document.content, wanted),
            "score": round(score, 4),
            "doc_id": document.doc_id,
        }
        for document in DOCUMENTS
        if (score := _score(document, wanted)) > 0
    ]
    return sorted(found, key=lambda one: (-one["score"], one["doc_id"]))[:limit]


def get_doc(doc_id: str) -> dict[str, Any]:
    for document in DOCUMENTS:
        if document.doc_id == doc_id:
            return asdict(document)
    raise RefusedError(
        f"Unknown doc_id: {doc_id}. Use one that search_docs returned, "
        f"from {DOCUMENTS[0].doc_id} to {DOCUMENTS[-1].doc_id}."
    )


def _words(text: str) -> list[str]:
    # Strip the plural s, so that "refund" finds "refunds"; a dozen documents need no more stemming.
    return [re.sub(r"(?<=..[^s])s$", "", word) for word in re.findall(r"\w+", text.lower())]


def _score(document: Document, wanted: set[str]) -> float:
    """Return the share of the document's words that are wanted."""
    words = TITLE_WEIGHT * _words(document.title) + _words(document.content) + _words(" ".join(document.tags))
    return sum(word in wanted for word in words) / len(words)


def _excerpt(content: str, wanted: set[str]) -> str:
    """Return the sentence with most of the wanted words."""
    return max(re.split(r"(?<=\.) ", content), key=lambda sentence: len(wanted & set(_words(sentence))))


TOOLS = [
    ServedTool(
        name="search_docs",
        description="Search internal documents by query string.",
        input_schema={
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["query"],
        },
        answer=search_docs,
    ),
    ServedTool(
        name="get_doc",
        description="Fetch one internal document by its doc_id from search_docs.",
        input_schema={
            "type": "object",
            "properties": {"doc_id": {"type": "string", "description": "Document ID from search_docs"}},
            "required": ["doc_id"],
        },
        answer=get_doc,
    ),
]

if __name__ == "__main__":
    DemoServer("doc_retrieval", TOOLS).serve()
