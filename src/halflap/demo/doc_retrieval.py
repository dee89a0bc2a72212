"""A dozen internal documents of a made-up firm: a server that does not declare what it returns."""

import math
import re
from dataclasses import asdict, dataclass
from typing import Any

from mcp_types import Tool

from halflap.demo._serving import READ_ONLY, RefusedError, ServedTool, serve

# The usual constants of BM25; a word in the title counts as much as three in the text.
SATURATION = 1.2
LENGTH_WEIGHT = 0.75
TITLE_WEIGHT = 3


@dataclass(frozen=True)
class Document:
    doc_id: str
    title: str
    author: str
    updated: str
    tags: tuple[str, ...]
    content: str


DOCUMENTS = (
    Document(
        doc_id="DOC-101",
        title="Refund and cancellation policy",
        author="Ines Okafor",
        updated="2026-02-11",
        tags=("policy", "orders", "support"),
        content=(
            "An order can be cancelled free of charge until it has been shipped. "
            "Refunds for returned goods are paid within ten working days to the original means of payment. "
            "Refunds above 5,000 USD need the approval of the finance lead. "
            "Cancelled orders do not count towards revenue."
        ),
    ),
    Document(
        doc_id="DOC-102",
        title="How we segment customers",
        author="Marek Lindqvist",
        updated="2026-01-19",
        tags=("sales", "customers"),
        content=(
            "Customers with more than 250,000 USD of yearly revenue are enterprise, those above 50,000 USD "
            "mid-market, all others smb. "
            "A segment is reviewed each quarter and changed by the account owner. "
            "Enterprise customers have a named contact and a yearly business review."
        ),
    ),
    Document(
        doc_id="DOC-103",
        title="Reading the customer health score",
        author="Marek Lindqvist",
        updated="2026-03-02",
        tags=("sales", "customers", "churn"),
        content=(
            "The health score runs from 0 to 100 and combines order frequency, support tickets and payment delays. "
            "Below 50 a customer is at risk of churn and gets a call within a week. "
            "From 50 to 80 the account is stable, above 80 it is healthy and a candidate for an upsell."
        ),
    ),
    Document(
        doc_id="DOC-104",
        title="Quarterly close checklist",
        author="Priya Raman",
        updated="2026-04-06",
        tags=("finance", "process"),
        content=(
            "Freeze the order book on the last day of the quarter. "
            "Reconcile revenue by customer against the ledger and explain every difference above 1 percent. "
            "Compare income, balance and cashflow statements of our listed peers for the board paper. "
            "The close takes six working days."
        ),
    ),
    Document(
        doc_id="DOC-105",
        title="Peer companies that we watch",
        author="Priya Raman",
        updated="2026-04-20",
        tags=("finance", "research"),
        content=(
            "Alder Instruments (ALDR) is our closest peer in margin and size. "
            "Brackwater Shipping (BRKW) carries most of our freight, so its results foretell our costs. "
            "Cantle Foods (CNTL) and Finchley Retail Group (FNCH) are customers' competitors. "
            "Driftline Software (DRFT) turned profitable in 2023; Elmstead Renewables (ELMR) supplies our plants."
        ),
    ),
    Document(
        doc_id="DOC-106",
        title="Incident report: delayed shipments in November",
        author="Tomás Vidal",
        updated="2025-12-09",
        tags=("operations", "incident"),
        content=(
            "Between 4 and 19 November, 312 orders left the warehouse late because a label printer driver failed "
            "after an update. "
            "No order was lost. Affected customers received a credit of 5 percent. "
            "The printer is now monitored and updates are tried on a spare machine first."
        ),
    ),
    Document(
        doc_id="DOC-107",
        title="Onboarding a new sales colleague",
        author="Ines Okafor",
        updated="2025-10-01",
        tags=("people", "sales"),
        content=(
            "In the first week: accounts for mail, the order system and the customer database. "
            "In the second week: shadow five customer calls and read the segmentation and refund documents. "
            "After a month the colleague owns ten smb accounts."
        ),
    ),
    Document(
        doc_id="DOC-108",
        title="Data retention and privacy",
        author="Lena Brandt",
        updated="2026-05-15",
        tags=("policy", "privacy"),
        content=(
            "Customer records are deleted 24 months after the last order, or at once when the customer asks. "
            "Deletion cannot be undone and removes the order history from all reports. "
            "Exports that contain personal data stay on company machines. "
            "Questions go to the privacy officer."
        ),
    ),
    Document(
        doc_id="DOC-109",
        title="Pricing and discounts 2026",
        author="Marek Lindqvist",
        updated="2026-01-05",
        tags=("sales", "pricing"),
        content=(
            "List prices rise by 3 percent on 1 February. "
            "Discounts up to 10 percent are at the discretion of the account owner, up to 20 percent need the "
            "sales lead. "
            "Enterprise contracts renew with the price of the previous year if signed before December."
        ),
    ),
    Document(
        doc_id="DOC-110",
        title="Travel and expenses",
        author="Priya Raman",
        updated="2025-09-12",
        tags=("policy", "people"),
        content=(
            "Book trains for journeys below five hours. "
            "Hotels are paid up to 180 USD a night. "
            "Receipts are handed in within 30 days; later ones are not refunded."
        ),
    ),
    Document(
        doc_id="DOC-111",
        title="Roadmap for the customer portal",
        author="Tomás Vidal",
        updated="2026-06-03",
        tags=("product", "customers"),
        content=(
            "In the third quarter customers can download invoices and see the order history of the last two years. "
            "In the fourth quarter they can change delivery addresses themselves. "
            "Single sign-on for enterprise customers is planned for next year."
        ),
    ),
    Document(
        doc_id="DOC-112",
        title="Who answers what",
        author="Lena Brandt",
        updated="2026-05-28",
        tags=("people", "support"),
        content=(
            "Invoices and refunds: finance. Late shipments: operations. Contracts and discounts: the account owner. "
            "Security and privacy: Lena Brandt. "
            "If in doubt, ask in the support channel; somebody answers within two hours."
        ),
    ),
)


def search_docs(query: str, limit: int = 5) -> list[dict[str, Any]]:
    wanted = set(_words(query))
    ranked = sorted(((_score(document, wanted), document) for document in DOCUMENTS), key=_best_first)
    return [
        {
            "title": document.title,
            "content": _excerpt(document.content, wanted),
            "score": round(score, 4),
            "doc_id": document.doc_id,
        }
        for score, document in ranked[:limit]
        if score > 0
    ]


def get_doc(doc_id: str) -> dict[str, Any]:
    for document in DOCUMENTS:
        if document.doc_id == doc_id:
            return asdict(document)
    raise RefusedError(
        f"Unknown doc_id: {doc_id}. Use one that search_docs returned, "
        f"from {DOCUMENTS[0].doc_id} to {DOCUMENTS[-1].doc_id}."
    )


def _words(text: str) -> list[str]:
    # Without the plural s "refund" finds "refunds"; more stemming than that a dozen documents do not need.
    return [re.sub(r"(?<=..[^s])s$", "", word) for word in re.findall(r"\w+", text.lower())]


def _indexed(document: Document) -> list[str]:
    return TITLE_WEIGHT * _words(document.title) + _words(document.content) + _words(" ".join(document.tags))


_INDEX = {document.doc_id: _indexed(document) for document in DOCUMENTS}
_MEAN_LENGTH = sum(map(len, _INDEX.values())) / len(_INDEX)


def _score(document: Document, wanted: set[str]) -> float:
    """Score by BM25."""
    words = _INDEX[document.doc_id]
    length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * len(words) / _MEAN_LENGTH
    score = 0.0
    for word in wanted:
        count = words.count(word)
        holders = sum(word in other for other in _INDEX.values())
        rarity = math.log(1 + (len(_INDEX) - holders + 0.5) / (holders + 0.5))
        score += rarity * count * (SATURATION + 1) / (count + SATURATION * length)
    return score


def _best_first(scored: tuple[float, Document]) -> tuple[float, str]:
    return -scored[0], scored[1].doc_id


def _excerpt(content: str, wanted: set[str]) -> str:
    """Return the sentence that has most of the words asked for."""
    return max(re.split(r"(?<=\.) ", content), key=lambda sentence: len(wanted & set(_words(sentence))))


TOOLS = [
    ServedTool(
        Tool(
            name="search_docs",
            description="Search internal documents by query string.",
            input_schema={
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["query"],
            },
            annotations=READ_ONLY,
        ),
        search_docs,
    ),
    ServedTool(
        Tool(
            name="get_doc",
            description="Fetch one internal document by its doc_id from search_docs.",
            input_schema={
                "type": "object",
                "properties": {"doc_id": {"type": "string", "description": "Document ID from search_docs"}},
                "required": ["doc_id"],
            },
            annotations=READ_ONLY,
        ),
        get_doc,
    ),
]

if __name__ == "__main__":
    serve("doc_retrieval", TOOLS)
