"""The same few tools under a contract, for any framework that has a decorator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from halflap.contract import Contract, Cursors, NotFound, Page, consumes, invariant, produces, unit

if TYPE_CHECKING:
    from halflap.contract.tool import Decorator

CONTRACT = Contract(source="desk")
CURSORS = Cursors(b"a key of sixteen bytes or more")


@dataclass
class Ticket:
    ticket_id: Annotated[str, produces("ticket"), Field(description="Unique identifier")]
    minutes: Annotated[int, unit("minutes"), Field(description="Time spent")]


@dataclass
class Span:
    shortest: Annotated[int, unit("minutes"), Field(description="At least")]


TICKETS = [Ticket(f"T-{number}", number * 10) for number in range(5)]


def register(tool: Decorator, context_type: Any) -> None:
    """Make the tools, with a context parameter of the framework's kind."""

    @tool(invariants=[invariant("results[].minutes", lambda value: value >= 0, "time is not negative")])
    def list_tickets(limit: int = 2, cursor: str | None = None) -> Page[Ticket]:
        """List tickets."""
        return CURSORS.page(TICKETS, cursor=cursor, size=limit, query="list_tickets")

    async def read_ticket(
        number: Annotated[str, consumes("ticket"), Field(description="Which one")], context: Any
    ) -> Ticket:
        """Read a ticket."""
        assert isinstance(context, context_type)
        if number == "broken":
            return Ticket(number, "secret")  # type: ignore[arg-type]
        if number == "crash":
            raise RuntimeError("password=hunter2")
        found = next((one for one in TICKETS if one.ticket_id == number), None)
        if found is None:
            raise NotFound(f"There is no ticket {number}.")
        return found

    read_ticket.__annotations__["context"] = context_type
    tool("read_ticket", title="Read")(read_ticket)

    @tool()
    def merge_tickets(
        numbers: list[Annotated[str, consumes("ticket"), Field(description="One of them")]],
        span: Span,
        every: Annotated[int, unit("minutes")] = Field(default=5, description="How often"),
    ) -> int:
        """Merge tickets."""
        return len(numbers) + span.shortest + every


def described_parameters(schema: dict[str, Any]) -> tuple[str, str, str]:
    """Return the descriptions of the annotated parameters of merge_tickets."""
    taken = schema["properties"]
    span = taken["span"]
    fields = schema["$defs"]["Span"] if "$ref" in span else span
    return (
        taken["numbers"]["items"]["description"],
        fields["properties"]["shortest"]["description"],
        taken["every"]["description"],
    )


DESCRIPTIONS = (
    "One of them. From list_tickets, read_ticket.",
    "At least. Unit: minutes.",
    "How often. Unit: minutes.",
)
