"""A page of results, as every tool that has many of them gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import Field, WithJsonSchema

from halflap.contract.relations import unit

__all__ = ["Page", "Pagination"]

T = TypeVar("T")


def _is_none(value: object) -> bool:
    return value is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """Where in the results a page is, and how to get the next."""

    total_count: Annotated[
        int | None,
        WithJsonSchema({"type": "integer", "minimum": 0}),
        Field(exclude_if=_is_none, description="Number of results on all pages"),
        unit("results"),
    ] = None
    """None where nobody has counted them."""
    page_size: Annotated[int, Field(ge=0, description="Number of results on this page"), unit("results")]
    has_more: Annotated[bool, Field(description="Whether there are more pages")]
    next_cursor: Annotated[
        str | None,
        WithJsonSchema({"type": "string"}),
        Field(exclude_if=_is_none, description="Pass to 'cursor' parameter to get next page"),
    ] = None

    def __post_init__(self) -> None:
        if self.has_more != (self.next_cursor is not None):
            raise ValueError("A page has a next_cursor if it has_more, and only then.")


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some of the results, in order."""

    results: Annotated[list[T], Field(description="The results of this page, in order")]
    pagination: Annotated[Pagination, Field(description="How many there are, and how to get the next page")]
