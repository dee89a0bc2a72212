"""A sales server whose tools compose by construction: one envelope, pages, relations and units, from typed functions.

Run it over stdio with `python examples/sales-server/server.py`.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Literal

from book import (
    CUSTOMERS,
    NOW,
    OPPORTUNITIES,
    STAGES,
    TODAY,
    CustomerRow,
    OpportunityRow,
    activities_of,
    orders_of,
    people_of,
)
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from halflap.contract import (
    Contract,
    Cursors,
    InvalidQuery,
    NotFound,
    Page,
    consumes,
    fraction,
    invariant,
    lint_ignore,
    produces,
    unit,
)
from halflap.contract.mcp import contract_tools

READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

Period = Annotated[Literal["month", "quarter", "year"], Field(description="How far back from today")]
Stage = Literal["lead", "qualified", "proposal", "negotiation"]
Segment = Annotated[
    Literal["enterprise", "mid-market", "smb"], Field(description="Customer segment based on annual revenue")
]
CustomerId = Annotated[
    str,
    produces("customer"),
    Field(min_length=1, description="Unique identifier"),
]
AskedCustomer = Annotated[str, consumes("customer"), Field(description="Customer ID")]
OpportunityId = Annotated[
    str,
    produces("opportunity"),
    Field(min_length=1, description="Opportunity ID"),
]
AskedOpportunity = Annotated[str, consumes("opportunity"), Field(description="Opportunity ID")]
Cents = Annotated[int, unit("USD cents"), Field(description="Divide by 100 for dollars")]
Limit = Annotated[int, unit("results"), Field(ge=1, le=100, description="Maximum number of results")]
PageLimit = Annotated[
    int, unit("results"), Field(ge=1, le=50, description="Maximum number of results on a page")
]
Cursor = Annotated[str | None, Field(description="pagination.next_cursor of the previous page")]
CompanyName = Annotated[str, Field(description="Name of the company")]
GeneratedAt = Annotated[datetime, Field(description="When this was computed (UTC)")]
OrderCount = Annotated[int, unit("orders"), Field(description="Number of orders")]


@dataclass
class TopCustomer:
    """A customer and their purchases in the period."""

    customer_id: CustomerId
    name: CompanyName
    total_revenue: Annotated[int, unit("USD cents"), Field(description="Revenue without cancelled orders")]
    order_count: OrderCount
    last_order_date: Annotated[date, Field(description="Day of the newest order in the period")]


@dataclass
class TopCustomers:
    """The customers with the most revenue."""

    customers: Annotated[list[TopCustomer], Field(description="Largest revenue first")]
    period: Period
    generated_at: GeneratedAt


@dataclass
class Order:
    """One order of a customer."""

    order_id: Annotated[
        str,
        lint_ignore("id-not-accepted", "Only shown to people: no tool takes an order."),
        Field(min_length=1, description="Unique identifier of the order"),
    ]
    customer_id: CustomerId
    total_cents: Cents
    date: Annotated[date, Field(description="Day of the order")]
    status: Annotated[
        Literal["processing", "shipped", "delivered", "cancelled"], Field(description="Current stage")
    ]


@dataclass
class FoundCustomer:
    """A customer, summarised."""

    customer_id: CustomerId
    name: CompanyName
    segment: Segment


@dataclass
class FoundCustomers:
    """The customers found."""

    customers: Annotated[list[FoundCustomer], Field(description="Matching customers, by name")]


@dataclass
class CustomerDetails:
    """Everything known about a customer."""

    customer_id: CustomerId
    name: CompanyName
    segment: Segment
    city: Annotated[str, Field(description="City of the head office")]
    email: Annotated[str, Field(description="Contact for orders", json_schema_extra={"format": "email"})]
    customer_since: Annotated[date, Field(description="Day of the first contract")]
    health_score: Annotated[
        int,
        unit("points"),
        Field(ge=0, le=100, description="Customer health score. <50=at-risk, 50-80=stable, >80=healthy"),
    ]
    last_contact: Annotated[datetime, Field(description="Last customer interaction timestamp (UTC)")]


@dataclass
class Opportunity:
    """A possible sale."""

    opportunity_id: OpportunityId
    customer_id: CustomerId
    name: Annotated[str, Field(description="What it is about")]
    stage: Annotated[Stage, Field(description="Current stage")]
    value_cents: Cents
    probability: Annotated[float, fraction, Field(ge=0, le=1, description="Probability of the sale")]
    expected_close: Annotated[date, Field(description="Expected day of the decision")]


@dataclass
class Pipeline:
    """The possible sales."""

    opportunities: Annotated[
        list[Opportunity],
        Field(description="List of opportunities. Each opportunity_id works with opportunity_* tools."),
    ]
    weighted_value_cents: Annotated[
        int, unit("USD cents"), Field(description="Sum of the values weighted by probability")
    ]


@dataclass
class Contact:
    """A person involved in an opportunity."""

    name: Annotated[str, Field(description="Name of the person")]
    role: Annotated[
        Literal["decision maker", "buyer", "engineer", "legal"],
        Field(description="Their part in the decision"),
    ]


@dataclass
class Contacts:
    """The people involved in an opportunity."""

    opportunity_id: OpportunityId
    contacts: Annotated[list[Contact], Field(description="Most important first")]


@dataclass
class Activity:
    """An activity around an opportunity."""

    at: Annotated[datetime, Field(description="When it happened (UTC)")]
    kind: Annotated[Literal["email", "call", "meeting", "demo"], Field(description="Kind of activity")]
    summary: Annotated[str, Field(description="What happened, in a sentence")]


@dataclass
class RegionSales:
    """Sales in one region."""

    region: Annotated[str, Field(description='Region identifier (e.g., "NA", "EMEA", "APAC")')]
    revenue_cents: Annotated[int, unit("USD cents"), Field(description="Total revenue")]
    order_count: OrderCount
    avg_order_value_cents: Annotated[int, unit("USD cents"), Field(description="Average order value")]


@dataclass
class SalesSummary:
    """Total sales."""

    revenue_cents: Annotated[int, unit("USD cents"), Field(description="Total revenue")]
    order_count: OrderCount


@dataclass
class SalesReport:
    """Sales of a period, without cancelled orders."""

    report_id: Annotated[
        str,
        lint_ignore("id-not-accepted", "Only shown to people: reports are not stored."),
        Field(min_length=1, description="Unique report identifier"),
    ]
    generated_at: Annotated[datetime, Field(description="Report generation timestamp (UTC)")]
    by_region: Annotated[list[RegionSales], Field(description="Sales data grouped by region")]
    summary: Annotated[SalesSummary, Field(description="Summary statistics")]


server = MCPServer(
    "sales",
    instructions=(
        "Sales data of one company. Every tool answers {success, data | error, metadata}; check success first. Start "
        "from sales_top_customers or customer_search: both return customer_id values, which order_history and "
        "customer_details take. sales_pipeline returns opportunity_id values for the opportunity_* tools. While "
        "data.pagination.has_more is true, call again with cursor set to data.pagination.next_cursor. Money is in USD "
        "cents."
    ),
    log_level="WARNING",
)
tool = contract_tools(server, Contract(source="sales-book"))
cursors = Cursors(max_page_size=50)


def _customer(customer_id: str) -> CustomerRow:
    if customer_id not in CUSTOMERS:
        raise NotFound(
            f"There is no customer {customer_id!r}. sales_top_customers and customer_search return customer_id values.",
            details={"customer_id": customer_id},
        )
    return CUSTOMERS[customer_id]


def _opportunity(opportunity_id: str) -> OpportunityRow:
    if opportunity_id not in OPPORTUNITIES:
        raise NotFound(
            f"There is no opportunity {opportunity_id!r}. sales_pipeline returns opportunity_id values.",
            details={"opportunity_id": opportunity_id},
        )
    return OPPORTUNITIES[opportunity_id]


def _shown(one: OpportunityRow) -> Opportunity:
    return Opportunity(
        one.opportunity_id, one.customer_id, one.name, one.stage, one.value_cents, STAGES[one.stage], one.expected_close
    )  # fmt: skip


@tool(
    annotations=READ_ONLY,
    invariants=[
        invariant("customers[].total_revenue", lambda cents: cents >= 0, "revenue is not negative"),
        invariant("customers[].customer_id", lambda value: value != "", "a customer has an id"),
    ],
)
def sales_top_customers(period: Period = "quarter", limit: Limit = 10) -> TopCustomers:
    """Get top customers by revenue for a time period."""
    found = []
    for one in CUSTOMERS.values():
        orders = orders_of(one.customer_id, period)
        if orders:
            revenue = sum(order.total_cents for order in orders)
            found.append(TopCustomer(one.customer_id, one.name, revenue, len(orders), orders[0].date))
    found.sort(key=lambda one: -one.total_revenue)
    return TopCustomers(found[:limit], period, NOW)


@tool(annotations=READ_ONLY)
def order_history(customer_id: AskedCustomer, limit: PageLimit = 10, cursor: Cursor = None) -> Page[Order]:
    """Get the orders of one customer, newest first, a page at a time."""
    _customer(customer_id)
    orders = [
        Order(one.order_id, one.customer_id, one.total_cents, one.date, one.status)
        for one in orders_of(customer_id)
    ]
    return cursors.page(orders, cursor=cursor, size=limit, query=["order_history", customer_id])


@tool(annotations=READ_ONLY)
def customer_search(
    query: Annotated[str, Field(description="Words of the name, the city or the segment")],
) -> FoundCustomers:
    """Find customers by words of their name, city or segment."""
    words = query.casefold().split()
    if not words:
        raise InvalidQuery("The query is empty: give a word of a customer's name, city or segment.")
    found = [
        FoundCustomer(one.customer_id, one.name, one.segment)
        for one in CUSTOMERS.values()
        if all(word in f"{one.name} {one.city} {one.segment}".casefold() for word in words)
    ]
    return FoundCustomers(sorted(found, key=lambda one: one.name))


@tool(annotations=READ_ONLY)
def customer_details(customer_id: AskedCustomer) -> CustomerDetails:
    """Get everything known about one customer."""
    one = _customer(customer_id)
    return CustomerDetails(
        one.customer_id, one.name, one.segment, one.city, one.email, one.customer_since, one.health_score, one.last_contact
    )  # fmt: skip


@tool(
    annotations=READ_ONLY,
    description=(
        "Get sales pipeline data. Returns opportunity_id values that can be used with: "
        "- opportunity_details (full opportunity info) "
        "- opportunity_contacts (related contacts) "
        "- opportunity_activities (activity timeline)"
    ),
)
def sales_pipeline(
    stage: Annotated[
        Stage | None, Field(description="Only opportunities in this stage; all by default")
    ] = None,
) -> Pipeline:
    found = [_shown(one) for one in OPPORTUNITIES.values() if stage in {None, one.stage}]
    return Pipeline(found, sum(round(one.value_cents * one.probability) for one in found))


@tool(annotations=READ_ONLY)
def opportunity_details(opportunity_id: AskedOpportunity) -> Opportunity:
    """Get full opportunity info."""
    return _shown(_opportunity(opportunity_id))


@tool(annotations=READ_ONLY)
def opportunity_contacts(opportunity_id: AskedOpportunity) -> Contacts:
    """Get the people involved in an opportunity."""
    return Contacts(opportunity_id, [Contact(*one) for one in people_of(_opportunity(opportunity_id))])


@tool(annotations=READ_ONLY)
def opportunity_activities(
    opportunity_id: AskedOpportunity, limit: PageLimit = 10, cursor: Cursor = None
) -> Page[Activity]:
    """Get the activity timeline of an opportunity, newest first, a page at a time."""
    found = [Activity(*one) for one in activities_of(_opportunity(opportunity_id))]
    return cursors.page(found, cursor=cursor, size=limit, query=["opportunity_activities", opportunity_id])


@tool(
    annotations=READ_ONLY,
    invariants=[
        invariant(
            "$",
            lambda report: (
                report["summary"]["revenue_cents"] == sum(one["revenue_cents"] for one in report["by_region"])
            ),
            "the summary is the sum of the regions",
        )
    ],
)
def sales_report(period: Period = "quarter") -> SalesReport:
    """Get the sales of a period by region."""
    regions: dict[str, list[int]] = {}
    for customer in CUSTOMERS.values():
        orders = orders_of(customer.customer_id, period)
        regions.setdefault(customer.region, []).extend(one.total_cents for one in orders)
    by_region = [
        RegionSales(region, sum(totals), len(totals), sum(totals) // max(1, len(totals)))
        for region, totals in sorted(regions.items())
    ]
    everything = [cents for totals in regions.values() for cents in totals]
    return SalesReport(
        f"REP-{TODAY:%Y%m%d}-{period}", NOW, by_region, SalesSummary(sum(everything), len(everything))
    )


if __name__ == "__main__":
    server.run()
