"""What the demo tells: its scenes, and the questions and programs in them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CONNECT",
    "CONTRACT",
    "COUNT",
    "FEEDS",
    "GET_DOC",
    "GUESSED",
    "GUESSED_KEY",
    "GUESS_AGAIN",
    "GUESS_LINE",
    "INSPECT",
    "KIT_CONTACTS",
    "KIT_EDGES",
    "KIT_PIPELINE",
    "KIT_STAGE",
    "LEARN",
    "MISTAKES",
    "NEXT",
    "OPENING",
    "ORDER_HISTORY",
    "QUESTION",
    "REFUSE",
    "RIGHT",
    "RIGHT_KEY",
    "RUN",
    "SCENES",
    "SEARCH",
    "SEARCHES",
    "SEARCH_DOCS",
    "SUGGEST",
    "TOP_CUSTOMERS",
    "WRONG",
    "Scene",
]


@dataclass(frozen=True)
class Scene:
    """One step: its name in the data, its headline, why it matters, and what is said while it is prepared."""

    name: str
    title: str
    why: str
    doing: str


OPENING = (
    "The best customers have cancelled orders. Which ones, how many, and what do the firm's own documents say about "
    "refunds? The answer is spread over servers that know nothing of each other."
)

TOP_CUSTOMERS = "mcp__sales__sales_top_customers"
ORDER_HISTORY = "mcp__sales__order_history"
SEARCH_DOCS = "mcp__doc_retrieval__search_docs"
GET_DOC = "mcp__doc_retrieval__get_doc"

CONNECT = Scene(
    "connect",
    "Three servers behind one",
    "An agent connects to Halflap alone, and reaches every tool of every server behind it.",
    "Starting the servers",
)
SEARCH = Scene(
    "search",
    "Find a tool by what it does",
    "With a thousand tools nobody can read the list; a few words are enough.",
    "Searching",
)
INSPECT = Scene(
    "inspect",
    "See what a tool takes and returns, if anybody knows",
    "Many servers do not say what their tools return. An agent then guesses, and no plan leads through such a tool.",
    "Inspecting",
)
REFUSE = Scene(
    "refuse",
    "A wrong program is refused, and nothing has happened",
    "What is certainly wrong is told before the first call, with what would be right.",
    "Checking the program",
)
RUN = Scene(
    "run",
    "A right one runs, locked away from your files and the network",
    "Many calls on two servers, and only what the program prints goes back to the model.",
    "Running the program",
)
LEARN = Scene(
    "learn",
    "What came back is learned",
    "From the results that passed, Halflap knows what the undeclared tool returns, and says how sure that is.",
    "Reading what was learned",
)
GUESS_AGAIN = Scene(
    "guess",
    "The same guess again: now there is something to say",
    "What was learned is no promise of the server, so a doubt stops nothing; but it is told, with the keys there are.",
    "Checking the guess",
)
FEEDS = Scene(
    "feeds",
    "What feeds what",
    "Names, descriptions, and values that were seen to go from one tool into another make a graph.",
    "Working out what feeds what",
)
SUGGEST = Scene(
    "suggest",
    "A workflow that nobody wrote is suggested, and run",
    "From what is at hand to what is wanted; before the schema was learned, no way led there.",
    "Looking for a way",
)
CONTRACT = Scene(
    "contract",
    "A server written with the contract kit composes by construction",
    "What its tools return, how they fail and which ids go where is declared: nothing has to be learned first.",
    "Starting a server that was written with the kit",
)
COUNT = Scene(
    "tokens",
    "What the model did not have to read",
    "Whatever goes through a model's context costs time, money and attention.",
    "Counting",
)
SCENES = (CONNECT, SEARCH, INSPECT, REFUSE, RUN, LEARN, GUESS_AGAIN, FEEDS, SUGGEST, CONTRACT, COUNT)

SEARCHES = {
    "best customers by revenue": TOP_CUSTOMERS,
    "orders of a customer": ORDER_HISTORY,
    "search the internal documents": SEARCH_DOCS,
}
"""What is asked, and the tool that must come first."""

QUESTION = "refunds for cancelled orders"

WRONG = """\
top = (await mcp__sales__sales_top_customers(period="year"))["customers"]
for one in top:
    page = await mcp__sales__order_histry(customer_id=one["customer_id"])
    print(one["name"], len(page["orders"]))
hits = await mcp__doc_retrieval__search_docs(query="refunds", top_k=3)
best = hits[0]["id"]
print(mcp__doc_retrieval__get_doc(doc_id=best))
"""
"""What an agent writes that remembers names badly and guesses the rest."""
MISTAKES = {3: "unknown-tool", 5: "unknown-argument", 7: "not-awaited"}
"""The mistakes that can be known of it with nothing learned, by their lines."""
GUESS_LINE = 6
"""Where it guesses what the undeclared tool returns: that nobody can know yet."""

RIGHT = """\
import asyncio

best = await mcp__sales__sales_top_customers(period="year", limit=5)
pages = await asyncio.gather(*(
    mcp__sales__order_history(customer_id=one["customer_id"], limit=200)
    for one in best["customers"]
))
for one, page in zip(best["customers"], pages):
    orders = page["orders"]
    gone = [order for order in orders if order["status"] == "cancelled"]
    worth = sum(order["total_cents"] for order in gone) / 100
    told = f"{len(gone)} of {len(orders)} orders cancelled"
    print(f"{one['name']}: {told}, ${worth:,.0f}")

# Nobody knows yet what a hit looks like, so one is printed as it is.
for topic in ("late shipments", "discounts", "refunds"):
    hits = await mcp__doc_retrieval__search_docs(query=topic, limit=3)
print(hits[:1])
"""

GUESSED = """\
hits = await mcp__doc_retrieval__search_docs(query="refunds", limit=3)
best = hits[0]["id"]
print(await mcp__doc_retrieval__get_doc(doc_id=best))
"""
"""The wrong program without its other mistakes: the guess is left."""
GUESSED_KEY, RIGHT_KEY = "id", "doc_id"

KIT_PIPELINE = "mcp__contract_sales__sales_pipeline"
KIT_CONTACTS = "mcp__contract_sales__opportunity_contacts"
KIT_EDGES = {
    (KIT_PIPELINE, KIT_CONTACTS): "data.opportunities[].opportunity_id → opportunity_id",
    (
        "mcp__contract_sales__sales_top_customers",
        "mcp__contract_sales__order_history",
    ): "data.customers[].customer_id → customer_id",
}
"""Ways that must be known before any call, and what goes along each."""
KIT_STAGE = "negotiation"
"""What is asked for: whom to talk to about all that is negotiated."""

NEXT = (
    ("halflap init", "finds the MCP servers that your clients already have, and writes one configuration"),
    ("halflap install claude-code", "puts Halflap into a client; also claude-desktop, cursor, vscode"),
    ("halflap doctor", "says how every server is doing, and what to do about it"),
    ("halflap lint", "says what keeps the tools of your servers from being composed, and how to mend it"),
    ("docs/tutorial.md", "ten minutes, from nothing to a program over servers of your own"),
)
